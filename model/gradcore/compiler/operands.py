# SPDX-License-Identifier: Apache-2.0
"""Fields of a COMPUTE that say where its operands are, and what else it can be given."""

from collections.abc import Iterable
from typing import TypedDict

from gradcore.compiler.operation import Part, Place, Rows
from gradcore.compiler.setting import Setting
from gradcore.compiler.tuples import Area, Fields, Span
from gradcore.isa.fold import ceil_div, image_place
from gradcore.ops.layer import Shape


class ProductOptions(TypedDict, total=False):
    """What a COMPUTE of FP or BP can be given besides; gradcore.compiler.products says what each is."""

    gate: Place | None
    targets: Place | None
    area: Area
    train: bool
    maps: Span
    part: Part
    strides: Fields


class GradientOptions(TypedDict, total=False):
    """What a COMPUTE of WU can be given besides."""

    area: Area
    maps: Span
    held: Part


def splits(setting: Setting, index: int) -> bool:
    """May groups of lanes share the channels of a layer's FP? Its rows of weights must then begin at a multiple of
    LANES."""
    return setting.config.split and setting.forward[index].weight_shape[1] % setting.config.lanes == 0


def split_lanes(setting: Setting, index: int, image: int, rows: Rows) -> bool:
    """Do all pixels and images of a group lie in the first COLS lanes? Image 2 is in the lower half of the grid."""
    fold, grid = setting.folds(index).fp, setting.config.grid
    lane_rows = min(setting.forward[index].conv_shape[1], 1 << fold)
    images = min(setting.fold_images(fold), setting.images - image)
    fits = lane_rows <= setting.config.cols // grid and images <= 2
    return splits(setting, index) and rows.base % setting.config.lanes == 0 and fits


def operand(setting: Setting, name: str, place: Place, access: int, image: int, shape: Shape | None = None) -> Fields:
    """Fields of an operand (row, col, dst or gate) whose vectors are accessed in fold `access`; `image` is the first
    of the access's group, whose place inside the group of the storage fold the rotations give."""
    tile = place.tile
    _, ih, ix = image_place(setting.config.grid, tile.fold, image)
    assert tile.fold <= access
    fields = dict(base=place.base, stride_y=tile.stride_y, stride_x=tile.stride_x, fold=tile.fold)
    fields |= dict(rot_y=int(ih) << tile.fold, rot_x=int(ix) << tile.fold)
    if shape:
        fields |= dict(height=shape[1], width=shape[2])
    return {f"{name}_{key}": value for key, value in fields.items()}


def moved(setting: Setting, fields: Fields, names: Iterable[str], by0: int, bx0: int, pool: bool = False) -> Fields:
    """Bases of the operands `names` at the window that begins with block (by0, bx0)."""
    result = {}
    for name in names:
        up, half = fields["fold"] - fields[f"{name}_fold"], pool and name == "dst"
        y, x = ((at << up) >> half for at in (by0, bx0))
        base = fields[f"{name}_base"] + y * fields[f"{name}_stride_y"] + x * fields[f"{name}_stride_x"]
        depth = setting.config.gate_depth if name == "gate" else setting.config.act_depth
        result[f"{name}_base"] = base % depth
    return result


def group_fields(setting: Setting, fold: int, image: int, shape: Shape) -> Fields:
    """Fields of an image group and of the map that is computed."""
    images = setting.fold_images(fold)
    return dict(fold=fold, height=shape[1], width=shape[2], n_base=image, n_valid=min(images, setting.images - image))


def whole_map(fold: int, shape: Shape) -> Area:
    """The area of all blocks of a map: (first, end) of rows and of columns."""
    rows, columns = ((0, ceil_div(size, 1 << fold)) for size in shape[1:])
    return rows, columns


def column_fields(setting: Setting, maps: Span) -> Fields:
    """Fields of the columns: maps (first, end) of a tensor."""
    count = maps[1] - maps[0]
    groups = ceil_div(count, setting.config.cols)
    return dict(n_g=groups, n_last=count - (groups - 1) * setting.config.cols)
