# SPDX-License-Identifier: Apache-2.0
"""The windows of a pooling: where they lie on a map (doc/numerics.md, "Other layers")."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from gradcore.ops import checks as check
from gradcore.ops.checks import NetworkError
from gradcore.ops.layer import Shape

Pair = tuple[int, int]  # of rows, of columns


@dataclass(frozen=True)
class Windows:
    """Windows of `size`, one every `stride` pixels, the first ones `pad` before the map. With `ceil_mode`, rows and
    columns at the end that fill no window get one, unless it would begin behind the map."""

    size: Pair = (2, 2)
    stride: Pair = (2, 2)
    pad: Pair = (0, 0)
    ceil_mode: bool = False

    @property
    def area(self) -> int:
        """Pixels of a window."""
        return self.size[0] * self.size[1]

    @property
    def meeting(self) -> int:
        """Windows that a pixel can be in, at most."""
        return -(-self.size[0] // self.stride[0]) * -(-self.size[1] // self.stride[1])

    def shape(self, shape: Shape) -> Shape:
        """(maps, rows, columns) of the windows on maps of `shape`."""
        rows, columns = (self._count(axis, n) for axis, n in enumerate(shape[1:]))
        return shape[0], rows, columns

    def split(self, a: np.ndarray, outside: float) -> np.ndarray:
        """The pixels of maps `a` (N, C, H, W) by place in the window, in raster order: (area, N, C, rows, columns).
        outside: the value of pixels that are not on the map."""
        shape = self.shape(a.shape[1:])
        padded = np.pad(a, ((0, 0), (0, 0), *self._margins(a.shape, shape)), constant_values=outside)
        return np.stack([padded[:, :, rows, columns] for rows, columns in self._places(shape)])

    def join(self, parts: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Maps of `shape` (N, C, H, W) from values by place in the window, as `split` gives them: those that meet in a
        pixel are added."""
        margins = self._margins(shape, parts.shape)
        size = [n + before + behind for n, (before, behind) in zip(shape[2:], margins)]
        full = np.zeros((*shape[:2], *size), dtype=parts.dtype)
        for (rows, columns), part in zip(self._places(parts.shape), parts):
            full[:, :, rows, columns] += part
        (above, _), (left, _) = margins
        return full[:, :, above : above + shape[2], left : left + shape[3]]

    def _count(self, axis: int, pixels: int) -> int:
        left, stride = pixels + 2 * self.pad[axis] - self.size[axis], self.stride[axis]
        if not self.ceil_mode:
            return left // stride + 1
        count = -(-left // stride) + 1
        return count - ((count - 1) * stride >= pixels + self.pad[axis])

    def _places(self, shape: tuple[int, ...]) -> product:
        """Rows and columns of the padded maps, by place in the window, for windows of `shape` (.., rows, columns)."""
        axes = [
            [slice(k, k + (n - 1) * stride + 1, stride) for k in range(size)]
            for size, stride, n in zip(self.size, self.stride, shape[-2:])
        ]
        return product(*axes)

    def _margins(self, shape: tuple[int, ...], windows: tuple[int, ...]) -> list[Pair]:
        """Pixels before and behind maps of `shape` (.., H, W), so that `windows` (.., rows, columns) are full."""
        ends = [(n - 1) * stride + size for n, stride, size in zip(windows[-2:], self.stride, self.size)]
        return [(pad, max(0, end - pad - n)) for n, pad, end in zip(shape[-2:], self.pad, ends)]


def checked(shape: Shape, most: int, size: object, stride: object, pad: object, ceil_mode: object) -> Windows:
    """The windows that the fields `window`, `stride` (None: as the window), `pad` and `ceil_mode` of a layer describe,
    up to `most` pixels wide, on maps of `shape`. Raises NetworkError."""
    window = check.pair("window", size, 1, (most, most))
    steps = window if stride is None else check.pair("stride", stride, 1, (most, most))
    margin = check.pair("pad", pad, 0, (window[0] // 2, window[1] // 2))
    if not isinstance(ceil_mode, bool):
        raise NetworkError("ceil_mode", f"{ceil_mode!r} is neither true nor false", "true")
    fit = [min(n, pixels + 2 * p) for n, pixels, p in zip(window, shape[1:], margin)]
    if fit != list(window):
        text = f"{window[0]}x{window[1]} does not fit maps of {shape[1]}x{shape[2]}"
        raise NetworkError("window", text, f"{fit[0]}x{fit[1]}")
    return Windows(window, steps, margin, ceil_mode)
