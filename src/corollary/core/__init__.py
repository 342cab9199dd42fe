"""The nouns of the library: loss, link, penalty, design, summary, problem, evidence."""
