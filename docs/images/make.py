"""Draw the pictures of the documentation by running the examples, and write the gallery with what they print.

Run from the root of the repository: python docs/images/make.py [NAME ...]
Examples that are not named keep their pictures and their part of the gallery.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
GALLERY = HERE.parent / "gallery.md"
EXAMPLES = HERE.parents[1] / "examples"

# the order of the gallery, and a short title for each example
SECTIONS = {
    "Tables and models": {
        "compare_table": "Which model for this table?",
        "judging_models": "Six questions to ask of a score",
        "bias_variance": "Bias, variance and noise",
        "costly_mistakes": "A threshold that pays",
    },
    "Linear models": {
        "certified_lasso": "A lasso with its proof",
        "any_loss_any_penalty": "Any loss, any penalty",
        "robust_regression": "Robust and quantile regression",
        "softmax_digits": "Sparse templates of digits",
        "nist_accuracy": "Right digits, on hard problems",
    },
    "Trees and ensembles": {
        "explained_boosting": "Boosting that explains itself",
        "face_or_digit_detector": "A detector from scratch",
    },
    "Neighbours, clusters, mixtures, components": {
        "curse_of_dimensions": "Neighbours in many dimensions",
        "choosing_k": "How many clusters?",
        "shape_sets": "Which method for which shape?",
        "image_compression": "A photograph in few bits",
        "mixture_densities": "Densities by mixtures",
        "eigendigits": "Digits in few components",
    },
    "Bayes": {
        "naive_bayes_boundary": "Naive Bayes, with and without labels",
        "conjugate_priors": "Beliefs that learn",
        "network_query": "A network that says why",
        "learned_network": "A network learned from rows",
    },
}

HEAD = """# Gallery

Each picture was drawn by the program below it, in less than half a minute, from data that come with scikit-learn, lie
in `docs/data`, or are generated; no network is needed. Our tests run every one of them and compare what it prints with
this page. To run one, from a checkout: `python examples/NAME.py --out picture.png`.
"""


def make(name: str) -> str:
    """Draw one picture, in 128 colours, and return what the example printed."""
    out = HERE / f"{name}.png"
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, str(EXAMPLES / f"{name}.py"), "--out", out.name],
            cwd=folder,
            check=True,
            env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        picture = Image.open(Path(folder) / out.name).convert("RGB").quantize(128, dither=Image.Dither.NONE)
        picture.save(out, optimize=True)
    print(f"{out.name}: {out.stat().st_size / 1000:.0f} kB, {picture.width} × {picture.height}")
    return run.stdout.strip()


def anchor(title: str) -> str:
    """The name that a link to a heading uses."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


def description(name: str) -> tuple[str, str]:
    """What an example is about: its first sentence, and all of its docstring but how to run it."""
    text = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))) or ""
    text = text.partition("\n\nRun: ")[0].replace("``", "`")
    return " ".join(text.partition("\n\n")[0].split()), text


def part(name: str, title: str, printed: str) -> str:
    """The part of the gallery about one example."""
    first, text = description(name)
    return f"""### {title}

{text}

![{first}](images/{name}.png)

```console
$ python examples/{name}.py
{printed}
```

[The program](../examples/{name}.py)
"""


def page(printed: dict[str, str]) -> str:
    """The gallery: small pictures that lead to the parts, then the parts."""
    cards, parts = [], []
    for section, examples in SECTIONS.items():
        parts.append(f"## {section}\n")
        for name, title in examples.items():
            cards.append(f'<a href="#{anchor(title)}"><img src="images/{name}.png" alt="" width="220">{title}</a>')
            parts.append(part(name, title, printed[name]))
    return "\n".join([HEAD, '<div class="gallery">', *cards, "</div>\n", *parts])


def known() -> dict[str, str]:
    """What the gallery of today says that each example prints."""
    text = GALLERY.read_text(encoding="utf-8") if GALLERY.exists() else ""
    found = re.findall(r"^\$ python examples/(\w+)\.py\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    return dict(found)


if __name__ == "__main__":
    names = [name for examples in SECTIONS.values() for name in examples]
    printed = known()
    printed |= {name: make(name) for name in sys.argv[1:] or names}
    GALLERY.write_text(page(printed), encoding="utf-8")
