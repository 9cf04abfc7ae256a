"""Colours that stand for different things stay apart for the colour-blind, and in grey where lines share a style."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from cold.catalogue import METHODS
from cold.plots.looks import LOOKS, OURS, look
from coldtheory.figures import style

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
_SEEN_BY = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color, matrix=None):
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if matrix is not None:
        linear = np.clip(np.array(matrix) @ linear, 0, 1)
    xyz = _TO_XYZ @ linear / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", [None, *_SEEN_BY])
@pytest.mark.parametrize(
    "colors",
    [
        tuple(style.REGIME_COLOR.values()),
        tuple(style.TERM_COLOR[name] for name in ("variation", "first loss", "conflict", "queues")),
        tuple(style.TERM_COLOR[name] for name in ("variation", "first loss", "conflict", "residual")),
        tuple(look(name)["color"] for name in OURS),
    ],
)
def test_apart(colors, eyes):
    matrix = _SEEN_BY.get(eyes)
    for left, right in combinations(colors, 2):
        assert np.linalg.norm(lab(left, matrix) - lab(right, matrix)) > 12, (left, right)  # 2 is just visible


def looks():
    return {name: look(name) for name in (*METHODS, "cold-distill", "a method of one's own")}


def test_every_method_has_a_colour_and_a_marker_of_its_own():
    assert set(METHODS) <= set(LOOKS)
    for part in ("color", "marker"):
        assert len({one[part] for one in looks().values()}) == len(looks())
    for left, right in combinations([one["color"] for one in looks().values()], 2):
        assert np.linalg.norm(lab(left) - lab(right)) > 12


def test_of_methods_that_nearly_coincide_one_shows_through_the_other():
    for below, above in (("cold", "cold-oracle"), ("der", "der++"), ("ewc", "online EWC"), ("er", "er-ace")):
        lower, upper = look(below), look(above)
        assert (lower["linestyle"], lower["fillstyle"], upper["fillstyle"]) == ("-", "full", "none")
        assert upper["zorder"] > lower["zorder"]
        assert upper["markersize"] > lower["markersize"] + 1
