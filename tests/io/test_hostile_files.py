"""Damaged, forged and oversized files are refused with the reason, and never do anything else."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from model_files import estimator, forge, npy, parts_of, scaler, write_zip
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from corollary import LinearModel, io
from corollary.core.penalty import Group

ZEROS = np.zeros(3)


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.corollary"
    model = make_pipeline(StandardScaler(), OneHotEncoder()).fit([[1.0, 2.0], [3.0, 4.0]])
    io.save(model, path)
    return path


def refused(path, reason, **options):
    with pytest.raises(io.ModelFileError, match=reason) as caught:
        io.load(path, **options)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 600


def part(part_id, **parameters):
    return {"part": {"class": part_id, "parameters": parameters}}


# ------------------------------------------------------------------------------------------------- the zip around it


@pytest.mark.parametrize("content", [b"", b"x", b"not a zip at all", b"PK\x05\x06" + bytes(18), b"\x80\x04K\x01."])
def test_other_files(content, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(content)
    refused(path, "not a model file")


def test_truncated_and_extended(good):
    content = good.read_bytes()
    good.write_bytes(content[:-1])
    refused(good, "truncated, or something was appended")
    good.write_bytes(content + b"\x00")
    refused(good, "truncated, or something was appended")


def test_a_zip_of_something_else(tmp_path):
    refused(write_zip(tmp_path / "a", [("readme", b"hello")]), "a zip file without model.json")
    refused(write_zip(tmp_path / "b", [("model.json", b"{}")]), "not one that corollary wrote")
    refused(forge(tmp_path / "c", scaler(), format="skops"), "not one that corollary wrote")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../evil.npy", "members are missing or were added: '../../evil.npy'"),
        ("/absolute.npy", "members are missing or were added"),
        ("arrays/9.npy", "members are missing or were added"),
        ("arrays/00.npy", "members are missing or were added"),
        ("arrays\\0.npy", "members are missing or were added"),
        ("arrays/9.npy\x00.txt", "odd name"),
        ("model.pkl", "members are missing or were added: 'model.pkl'"),
    ],
)
def test_added_members(name, reason, good):
    members = list(parts_of(good).items())
    info = zipfile.ZipInfo("x")
    info.filename = name  # past the cleaning that ZipInfo does
    with zipfile.ZipFile(good, "w") as archive:
        for other, content in members:
            archive.writestr(other, content)
        archive.writestr(info, b"x")
    refused(good, reason)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_and_missing_members(good):
    members = list(parts_of(good).items())
    refused(write_zip(good, [*members, members[-1]]), "two members of the same name")
    refused(write_zip(good, members[:-1]), "members are missing or were added")
    refused(write_zip(good, members, zipfile.ZIP_LZMA), "packed in an unknown way")


def test_a_changed_array_fails_its_hash(good):
    members = parts_of(good)
    members["arrays/0.npy"] = members["arrays/0.npy"][:-1] + b"\x7f"
    refused(write_zip(good, list(members.items())), "arrays/0.npy is damaged: its SHA-256")


def test_an_array_that_is_not_what_the_header_says(tmp_path):
    path = forge(tmp_path / "m", scaler(mean_={"array": 0}), [ZEROS])
    header = parts_of(path)["model.json"]
    for array in (np.zeros(4), np.zeros(3, np.float32), np.zeros((3, 1)), np.array([None] * 3), np.zeros(0)):
        forged = write_zip(path, [("model.json", header), ("arrays/0.npy", npy(array))])
        refused(forged, "arrays/0.npy (takes|is not)")
    executable = npy(ZEROS).replace(b"'descr': '<f8'", b"'descr':  exit")
    assert len(executable) == len(npy(ZEROS))
    refused(write_zip(path, [("model.json", header), ("arrays/0.npy", executable)]), "arrays/0.npy is not the")


def test_impossible_booleans(tmp_path):
    path = forge(tmp_path / "m", scaler(a={"array": 0}), [np.array([0, 2], np.uint8).view(bool)])
    refused(path, "booleans that are neither true nor false")


# -------------------------------------------------------------------------------------------------------------- sizes


def test_max_bytes_is_checked_before_anything_is_unpacked(tmp_path):
    path = tmp_path / "large"
    io.save(StandardScaler(copy=np.zeros(2_000_000)), path)
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    refused(path, r"unpacks to 16,0\d\d,\d\d\d bytes; if you trust it, load it with max_bytes=16", max_bytes=10**6)
    assert tracemalloc.get_traced_memory()[1] < 5 * 10**6
    tracemalloc.stop()
    assert io.load(path, max_bytes=17 * 10**6).copy.shape == (2_000_000,)
    for wrong in (None, 0, -1, 1e9):
        with pytest.raises(ValueError, match="max_bytes must be a positive integer"):
            io.load(path, max_bytes=wrong)


def declared(path, entry, content, size):
    """A file whose directory declares a size for its array that is not the size of its content."""
    forge(path, scaler(a={"array": 0}), arrays=[entry])
    write_zip(path, [*parts_of(path).items(), ("arrays/0.npy", content)])
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rindex(signature) + offset
        data[at : at + 4] = struct.pack("<I", size)
    path.write_bytes(data)
    return path


def test_bombs_and_lies_about_sizes(tmp_path):
    entry = {"dtype": "<f8", "shape": [500_000_000 // 8 - 16], "fortran": False, "sha256": "0" * 64}
    tracemalloc.start()
    refused(declared(tmp_path / "a", entry, b"tiny", 500_000_000), "declares more bytes than it can hold")
    entry["shape"] = [1]
    refused(declared(tmp_path / "b", entry, bytes(10**6), 136), "arrays/0.npy")
    assert tracemalloc.get_traced_memory()[1] < 20 * 10**6
    tracemalloc.stop()


def test_a_header_that_is_too_large(tmp_path):
    path = write_zip(tmp_path / "m", [("model.json", b" " * (64 * 2**20 + 1))])
    assert path.stat().st_size < 10**6
    refused(path, "model.json takes 67,108,865 bytes; the limit is")


def test_a_directory_that_is_too_large(good):
    data = bytearray(good.read_bytes())
    data[-10:-6] = struct.pack("<I", 10**9)
    good.write_bytes(data)
    refused(good, "directory of .* members takes 1,000,000,000 bytes")


# ------------------------------------------------------------------------------------------------------- the header


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format_version": 3}, "format version 3 and this corollary reads up to 2; upgrade corollary"),
        ({"format_version": 0}, "format version is 0"),
        ({"format_version": "1"}, "format version is '1'"),
        ({"format_version": True}, "format version is True"),
        ({"extra": 1}, "header has the entries"),
        ({"format_version": 2}, "header has the entries"),
        ({"card": {}}, "header has the entries"),
        ({"created": ...}, "header has the entries"),
        ({"created": 5}, "does not say when"),
        ({"versions": {"corollary": 1}}, "does not say when"),
        ({"versions": []}, "does not say when"),
        ({"versions": {"corollary": "1"}}, "does not say when"),
        ({"created": "\x1b[2J"}, "does not say when"),
        ({"arrays": {}}, "must list at most"),
        ({"arrays": [[]] * 50_001}, "must list at most"),
        ({"arrays": [5]}, "array 0 must have"),
    ],
)
def test_bad_headers(changes, reason, tmp_path):
    refused(forge(tmp_path / "m", scaler(), **changes), reason)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"dtype": "|O"}, "dtype '|O'; only numbers"),
        ({"dtype": "O"}, "dtype 'O'"),
        ({"dtype": "<f8,<f8"}, "dtype"),
        ({"dtype": "float64"}, "dtype"),
        ({"dtype": [["a", "<f8"]]}, "dtype"),
        ({"dtype": "<U99999999999"}, "dtype"),
        ({"dtype": "|V8"}, "dtype"),
        ({"shape": [-3]}, "shape"),
        ({"shape": [3.0]}, "shape"),
        ({"shape": [True]}, "shape"),
        ({"shape": 3}, "shape"),
        ({"shape": [1] * 40}, "shape"),
        ({"shape": [2**63, 2**63]}, "takes"),
        ({"shape": [10**30]}, "takes"),
        ({"fortran": 0}, "order"),
        ({"fortran": True, "shape": [1, 3]}, "arrays/0.npy is not"),
        ({"sha256": "0"}, "SHA-256"),
        ({"sha256": "0" * 64}, "SHA-256"),
        ({"offset": 3}, "array 0 must have"),
    ],
)
def test_bad_array_entries(entry, reason, tmp_path):
    path = forge(tmp_path / "m", scaler(a={"array": 0}), [ZEROS])
    members = parts_of(path)
    header = json.loads(members["model.json"])
    header["arrays"][0] |= entry
    members["model.json"] = json.dumps(header).encode()
    refused(write_zip(path, list(members.items())), reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"a": 1} x', "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        (b'{"a": 1, "a": 1}', "same name twice"),
        (b'{"a": NaN}', "'NaN' where a finite number"),
        (b'{"a": -Infinity}', "'-Infinity' where a finite number"),
        (b'{"a": 1e999}', "'1e999' where a finite number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"9" * 5_000, "integer of 5000 digits"),
    ],
)
def test_bad_json(text, reason, tmp_path):
    refused(write_zip(tmp_path / "m", [("model.json", text)]), reason)


# ---------------------------------------------------------------------------------------------------------- the tree


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (None, "holds a NoneType where an estimator is expected"),
        ([scaler()], "holds a list where an estimator"),
        (estimator("sklearn:make_column_selector", pattern=None), "holds a make_column_selector where an estimator"),
        (estimator("sklearn:SGDClassifier"), "names the class 'sklearn:SGDClassifier'"),
        (estimator("sklearn.preprocessing:StandardScaler"), "names the class"),
        (estimator("sklearn:f_classif"), "names the class 'sklearn:f_classif'"),
        (estimator("corollary:load"), "names the class 'corollary:load'"),
        (estimator("corollary:StandardScaler"), "names the class"),
        (estimator("builtins:eval"), "names the class"),
        (estimator("os:system"), "names the class"),
        (estimator("StandardScaler"), "names the class"),
        (estimator("x" * 10_000), "names the class"),
        (estimator(["sklearn:Pipeline"]), "names the class"),
        (estimator(None), "names the class"),
        (estimator("sklearn:Pipeline"), "Pipeline lacks its parameter 'steps'"),
        (estimator("sklearn:Pipeline", steps=[], memory="cache"), "Pipeline.memory is a folder of pickles"),
        (
            estimator("corollary:AgglomerativeClustering", memory="cache"),
            "AgglomerativeClustering.memory is a folder of pickles",
        ),
        ({"estimator": {"class": "sklearn:Pipeline"}}, "estimator with the entries"),
        ({"estimator": [1]}, "where named values are expected"),
        ({"estimator": {"class": "sklearn:StandardScaler", "attributes": [["a", 1]]}}, "where named values"),
        (scaler(predict=1, transform=2), "'transform' would replace a part of the class"),
        (scaler(fit={"function": "numpy:log"}), "'fit' would replace"),
        (scaler(_parameter_constraints={"dict": {}}), "'_parameter_constraints' would replace"),
        (scaler(_doc_link_template="javascript:1"), "'_doc_link_template' would replace"),
        (scaler(__class__=1), "cannot have an attribute called '__class__'"),
        (scaler(__dict__={"dict": {}}), "cannot have an attribute called '__dict__'"),
        (scaler(**{"a b": 1}), "cannot have an attribute called 'a b'"),
        (scaler(_skl_callbacks=[]), "cannot have an attribute called '_skl_callbacks'"),
        (scaler(a={"pickle": "gASVCg=="}), "unknown kind"),
        (scaler(a={"reduce": ["os.system", "id"]}), "unknown kind"),
        (scaler(a={}), "unknown kind"),
        (scaler(a={"tuple": [], "dict": {}}), "unknown kind"),
        (scaler(a={"array": 1}), "refers to array 1 of 1"),
        (scaler(a={"array": -1}), "-1 where a non-negative integer"),
        (scaler(a={"array": "0"}), "'0' where a non-negative integer"),
        (scaler(a={"array": True}), "True where a non-negative integer"),
        (scaler(), "arrays that the model does not use"),
        (scaler(a={"float": "1e5"}), "names the float '1e5'"),
        (scaler(a={"float": 5}), "5 where text is expected"),
        (scaler(a={"function": "numpy:load"}), "names the function 'numpy:load'"),
        (scaler(a={"function": "numpy:fromfile"}), "names the function"),
        (scaler(a={"function": "sklearn:StandardScaler"}), "names the function"),
        (scaler(a={"type": "type"}), "names the type 'type'"),
        (scaler(a={"type": "eval"}), "names the type 'eval'"),
        (scaler(a={"dtype": "V8"}), "names the dtype"),
        (scaler(a={"dtype": "<f8,<f8"}), "names the dtype"),
        (scaler(a={"missing": "read_pickle"}), "names the missing value"),
        (scaler(a={"status": "name"}), "names the status"),
        (scaler(a={"bytes": "%%%"}), "damaged"),
        (scaler(a={"complex": [1]}), "damaged"),
        (scaler(a={"complex": ["1", 2]}), "'1' where a number"),
        (scaler(a={"range": [0, {"float": "nan"}, 1]}), "holds a range of"),
        (scaler(a={"range": [0, 5, 0]}), "damaged"),
        (scaler(a={"slice": [1, 2]}), "damaged"),
        (scaler(a={"scalar": ["int64", {"float": "nan"}]}), "nan where a int64 is expected"),
        (scaler(a={"scalar": ["int64", 1.0]}), "1.0 where a int64"),
        (scaler(a={"scalar": ["int8", 300]}), "damaged"),
        (scaler(a={"scalar": ["float64", "1"]}), "'1' where a float64"),
        (scaler(a={"scalar": ["void", 1]}), "names the scalar type 'void'"),
        (scaler(a={"scalar": ["array", {"array": 0}]}), "names the scalar type 'array'"),
        (scaler(a={"objects": [[2], [1]]}), "damaged"),
        (scaler(a={"objects": [[-1], [1]]}), "-1 where a non-negative"),
        (scaler(a={"objects": [[10**18, 0], []]}), "damaged|not use"),
        (scaler(a={"objects": [1]}), "damaged"),
        (scaler(a={"dict": [["a", 1]]}), "where named values"),
        (scaler(a={"items": [["a"]]}), "pairs of keys and values"),
        (scaler(a={"items": {"a": 1}}), "where a list is expected"),
        (scaler(a={"items": [[1, 2], [1, 3]]}), "same key twice"),
        (scaler(a={"items": [[[], 1]]}), "damaged"),
        (scaler(a={"set": [{"dict": {}}]}), "damaged"),
        (scaler(a={"items": [[{"tuple": [i, -i]}, 0] for i in range(4_097)]}), "more than 4096 keys"),
        (scaler(a={"set": [i * (2**61 - 1) for i in range(4_099)]}), "more than 4096 keys"),
        (part("loss:Huber", delta=1.0), "holds a Huber where an estimator"),
        (scaler(a=part("loss:Huber", delta=-1.0)), "a Huber that cannot be: Huber: delta must be a number > 0"),
        (scaler(a=part("loss:Huber", delta={"float": "nan"})), "Huber that cannot be"),
        (scaler(a=part("loss:Huber", delta="1")), "Huber that cannot be"),
        (scaler(a=part("loss:Huber", delta=1.0, epsilon=1.0)), "a Huber with the parameters"),
        (scaler(a=part("loss:Tweedie", power=3)), "power must be a number ≥ 1 and ≤ 2"),
        (scaler(a=part("penalty:L1", strength=-1)), "L1 that cannot be"),
        (scaler(a=part("penalty:L1")), "L1 that cannot be"),
        (scaler(a=part("penalty:Group", strength=1, groups=[[1, 2]])), "one entry per column"),
        (scaler(a=part("penalty:Group", strength=1, groups=[[1], 2])), "Group that cannot be"),
        (scaler(a=part("penalty:Group", strength=1, groups=[1, None])), "Group that cannot be"),
        (scaler(a=part("loss:L1", strength=1)), "names the part 'loss:L1'"),
        (scaler(a=part("loss:Loss")), "names the part 'loss:Loss'"),
        (scaler(a=part("corollary:Huber", delta=1)), "names the part"),
        (scaler(a=part("os:system")), "names the part"),
        (scaler(a=part(["loss:Huber"])), "names the part"),
        (scaler(a=part("own:Stranger")), "'Stranger', which is not one of corollary's; if you have it and trust it"),
        (scaler(a={"part": {"class": "loss:Huber"}}), "a part with the entries"),
        (scaler(a={"part": ["loss:Huber"]}), "where named values"),
        (scaler(a={"part": {"class": "loss:Huber", "parameters": [1]}}), "where named values"),
        (scaler(_metadata_request=5), "where named values"),
        (scaler(_metadata_request={"routing": {"owner": {}}}), "routes metadata to the unknown method 'owner'"),
        (scaler(_metadata_request={"routing": {"predict_": {}}}), "routes metadata to the unknown method"),
        (scaler(_metadata_request={"routing": {"fit": {"w": [1]}}}), "damaged"),
        (scaler(a={"certificate": {"name": 1, "value": 1, "tolerance": 1}}), "1 where text"),
        (scaler(a={"certificate": {"name": "x", "value": "1", "tolerance": 1}}), "'1' where a number"),
        (scaler(a={"certificate": {"name": "x", "holds": 1}}), "certificate with the entries"),
        (scaler(a={"evidence": {"status": "CONVERGED", "certificate": 1, "solver": ""}}), "evidence whose status"),
        (scaler(a={"random_state": [{"array": 0}, 0, 0, 0.0]}), "not 624 numbers"),
        (scaler(a={"spline": [{"array": 0}, {"array": 0}, 3, "wild"]}), "extrapolates by 'wild'"),
        (scaler(a={"spline": [{"array": 0}, {"array": 0}, 3, True]}), "damaged"),
        (scaler(a={"frame": [["a"], [0], 1]}), "not a table of numbers"),
        (scaler(a={"frame": [["a"], 0, {"array": 0}]}), "frame"),
        (scaler(a={"sparse": ["dok", "array", [1, 1], 1, 2, 3]}), "sparse matrix of unknown kind"),
        (scaler(a={"sparse": ["csr", "array", [1, 1], 1, 2, 3]}), "without its three arrays"),
        (scaler(a={"sparse": ["csr", "array", [1, 3], *[{"array": 0}] * 3]}), "indices are not integers"),
    ],
)
def test_bad_trees(model, reason, tmp_path):
    refused(forge(tmp_path / "m", model, [ZEROS]), reason)


def test_too_much_nesting(tmp_path):
    tree = scaler()
    for _ in range(70):
        tree = scaler(copy=tree)
    refused(forge(tmp_path / "m", tree), "nested more than 64 levels deep")


@pytest.mark.parametrize("indices", [[0, 3], [0, -1], [0, 2**40]])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_that_point_outside(form, indices, tmp_path):
    data = np.ones(2)
    second = np.array([0, 0]) if form == "coo" else np.array([0, 1, 2, 2])
    shape = [3, 3]
    node = {"sparse": [form, "array", shape, {"array": 0}, {"array": 1}, {"array": 2}]}
    refused(forge(tmp_path / "m", scaler(a=node), [data, np.array(indices), second]), "damaged")


def test_a_random_state_at_an_impossible_position(tmp_path):
    node = {"random_state": [{"array": 0}, 5_000_000, 0, 0.0]}
    refused(forge(tmp_path / "m", scaler(a=node), [np.zeros(624, np.uint32)]), "impossible position")


# State that compiled code below scikit-learn trusts: if these passed, `transform` would write outside its output.


def tampered(model, path, **attributes):
    vars(model).update(attributes)
    with pytest.raises(io.ModelFileError) as caught:
        io.save(model, path)
    return str(caught.value)


COLUMN = np.array([[1.0], [2.0], [5.0], [5.0]])


@pytest.mark.parametrize(
    "attributes",
    [
        {"_n_features_outs": [2]},
        {"_n_features_outs": [3, 3]},
        {"_n_features_outs": np.array([3])},
        {"_n_features_outs": [3.0]},
        {"categories_": [np.array([5.0, 2.0, 1.0])]},
        {"categories_": [np.array([np.nan, 1.0, 2.0])]},
        {"categories_": [np.array([[1.0, 2.0, 5.0]])]},
        {"categories_": [[1.0, 2.0, 5.0]]},
        {"_drop_idx_after_grouping": np.array([7]), "_n_features_outs": [2]},
        {"_drop_idx_after_grouping": np.array([0.5]), "_n_features_outs": [2]},
        {"_infrequent_enabled": True},
        {
            "_infrequent_enabled": True,
            "_infrequent_indices": [np.array([0])],
            "_default_to_infrequent_mappings": [np.array([0, 1, 900])],
        },
        {
            "_infrequent_enabled": True,
            "_infrequent_indices": [None],
            "_default_to_infrequent_mappings": [np.array([0, 1, 900])],
        },
    ],
)
def test_one_hot_encoders_that_would_write_outside_their_output(attributes, tmp_path):
    assert "OneHotEncoder" in tampered(OneHotEncoder().fit(COLUMN), tmp_path / "m", **attributes)


@pytest.mark.parametrize("vocabulary", [{"a": 0, "b": 7}, {"a": -1, "b": 0}, {"a": 0, "b": 0}, {"a": 0.0}, ["a"], 5])
def test_vocabularies_that_would_write_outside_their_output(vocabulary, tmp_path):
    assert "vocabulary_ must number" in tampered(CountVectorizer(), tmp_path / "m", vocabulary_=vocabulary)


# ------------------------------------------------------------------------------------------------ nothing is executed


def test_groups_of_another_number_of_columns(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = LinearModel(penalty=Group(0.1, [0, 0, 1])).fit(X, X[:, 0])
    reason = tampered(model, tmp_path / "m", n_features_in_=2)  # saving makes the checks of loading
    assert "groups must have one entry per column of X (2), but its shape is (3,)" in reason


def test_loading_executes_and_imports_nothing(tmp_path):
    path = tmp_path / "model.corollary"
    encoder = ColumnTransformer([("c", OneHotEncoder(), ["a"])], remainder="passthrough")
    io.save(make_pipeline(encoder, StandardScaler()).fit(pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})), path)
    script = f"""
        import sys
        from corollary import io

        path = {str(path)!r}
        io.load(path)  # imports what the closed table names

        def watch(event, arguments):
            forbidden = ("exec", "compile", "import", "pickle", "marshal", "subprocess", "socket", "ctypes", "os.")
            if event.startswith(forbidden) or event == "open" and arguments[0] != path:
                raise SystemExit(f"{{event}} {{arguments}}")

        sys.addaudithook(watch)
        io.load(path)
        sys.stdout.write("loaded")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("loaded", "")


def _halve(nodes):
    nodes["cut"] = nodes["cut"][: len(nodes["cut"]) // 2]


def _leave_out(nodes):
    del nodes["sizes"]


def _point_outside(nodes):
    nodes["feature"] = np.full_like(nodes["feature"], 200)


@pytest.mark.parametrize("damage", [_halve, _leave_out, _point_outside])
def test_a_forged_forest_is_refused_before_it_predicts(tmp_path, damage):
    from corollary import RandomForestClassifier

    X = np.random.default_rng(0).normal(size=(60, 3))
    model = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, X[:, 0] > 0)
    model.nodes_ = dict(model.nodes_)
    damage(model.nodes_)
    path = tmp_path / "forest.corollary"
    with pytest.raises(io.ModelFileError, match="RandomForestClassifier"):
        write_and_read(model, path)


def write_and_read(model, path):
    model.save(path)
    return io.load(path)
