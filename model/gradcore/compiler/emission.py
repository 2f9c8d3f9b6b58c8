# SPDX-License-Identifier: Apache-2.0
"""Second step of the compiler: one instruction at a time, with the memory that it reads and writes."""

from dataclasses import dataclass, field
from itertools import product

from gradcore.compiler.memory_map import FIXED, CompileError, MapTensor, MemoryMap, Tile, delta_shape
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import ceil_div, image_place, tap_windows
from gradcore.isa.instruction import BP, ENGINE, FP, GATE_BUFFER, WU, Instruction, Opcode, instruction
from gradcore.numerics.fixed_point import COEF_MAX, MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.loss import LOSSES


@dataclass
class Op:
    """An instruction and its accesses: (space, start, end). Spaces: buf0, buf1, gate (vectors), wgt, grad (rows),
    dram0..dram3 (bytes).

    beats: what it moves in DRAM; late_reads are finished when the results are written, reads when the operands have
    been read.
    """

    instr: Instruction
    layer: str
    text: str
    cycles: int
    beats: int = 0
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    late_reads: list = field(default_factory=list)

    @property
    def engine(self) -> int:
        return ENGINE[self.instr.opcode]


@dataclass(frozen=True)
class Place:
    """A tile in an operand buffer, moved to the image group that an access is about."""

    buffer: int
    base: int
    tile: Tile
    start: int
    size: int

    @property
    def range(self) -> tuple:
        return f"buf{self.buffer}", self.start, self.start + self.size


@dataclass(frozen=True)
class Rows:
    """Rows of a layer in the weight or gradient buffer: first row, first bias row, end."""

    base: int
    bias_base: int
    end: int


class Lower:
    """Makes the instructions of one network on one engine for minibatches of `images`; `layers` are its layers as they
    are computed."""

    def __init__(self, network, layers, config: EngineConfig, images: int, memory: MemoryMap):
        self.network, self.layers, self.config, self.images, self.memory = network, layers, config, images, memory

    def _make(self, opcode, layer, **fields) -> Instruction:
        try:
            return instruction(opcode, **fields)
        except ValueError as error:
            raise CompileError(
                layer, f"an instruction field does not fit: {error}", "too large", "the field"
            ) from error

    # DRAM to and from buffers

    def _contiguous(self, base_sel, addr, words, word_bytes) -> tuple:
        beats = ceil_div(words * word_bytes, self.config.mem_bytes)
        fields = dict(base_sel=base_sel, addr=addr, run_beats=beats, n1=1, n2=1, n_words=words)
        return fields, (f"dram{base_sel}", addr, addr + beats * self.config.mem_bytes)

    def _group(self, tensor: MapTensor, group: int) -> tuple:
        layout = tensor.layout
        return self._contiguous(
            tensor.base_sel, tensor.addr + group * layout.group_bytes, layout.group_vectors, self.config.vector_bytes
        )

    def load(self, layer: str, tensor: MapTensor, group: int, place: Place, scale=None) -> Op:
        """LOAD of one image group; up-sampled if the tensor says so, scaled by `scale` = (first gate vector, tile,
        vectors in all)."""
        layout, tile = tensor.layout, place.tile
        fields, dram = self._group(tensor, group)
        strides = dict(stride_b=tile.stride_b, stride_y=tile.stride_y, stride_x=tile.stride_x)
        reads, vectors = [dram], layout.group_vectors
        if tensor.upsample:
            vectors *= 4
            strides |= dict(upsample=1, pool_bit=min(layout.fold, self.config.log_grid - 1))
            if layout.fold == self.config.log_grid:
                strides |= dict(
                    stride_y=2 * tile.stride_y,
                    stride_x=2 * tile.stride_x,
                    stride_qy=tile.stride_y,
                    stride_qx=tile.stride_x,
                )
            else:
                strides |= dict(stride_qy=2 * tile.stride_b, stride_qx=tile.stride_b)
        if scale:
            first, gate_tile, total = scale
            start = first + group * tile.groups * gate_tile.size
            strides |= dict(scale=1, gate_base=start)
            reads.append(("gate", start, min(start + tile.groups * gate_tile.size, first + total)))
        instr = self._make(
            Opcode.LOAD,
            layer,
            **fields,
            buffer=place.buffer,
            fold=tile.fold,
            n_b=1,
            n_y=layout.rows,
            n_x=layout.columns,
            n_c=layout.channels,
            base=place.base,
            **strides,
        )
        what = " up-sampled" * tensor.upsample + " scaled" * bool(scale)
        return Op(
            instr,
            layer,
            f"{tensor.name} group {group}{what}",
            max(fields["run_beats"], vectors),
            fields["run_beats"],
            reads,
            [place.range],
        )

    def load_gate(self, layer: str, tensor: MapTensor, group: int, first: int) -> Op:
        """LOAD of one image group of targets into the gate buffer."""
        layout, tile = tensor.layout, tensor.tile
        fields, dram = self._group(tensor, group)
        base = first + group * tile.size
        instr = self._make(
            Opcode.LOAD,
            layer,
            **fields,
            buffer=GATE_BUFFER,
            fold=tile.fold,
            n_b=1,
            n_y=layout.rows,
            n_x=layout.columns,
            n_c=layout.channels,
            gate_base=base,
            stride_b=tile.stride_b,
            stride_y=tile.stride_y,
            stride_x=tile.stride_x,
        )
        cycles = max(fields["run_beats"], layout.group_vectors)
        return Op(
            instr,
            layer,
            f"{tensor.name} group {group}",
            cycles,
            fields["run_beats"],
            [dram],
            [("gate", base, base + tile.size)],
        )

    def store(self, layer: str, tensor: MapTensor, group: int, place: Place, urgent: bool = False) -> Op:
        """STORE of one image group; its tile in the buffer has the shape of the tensor. `urgent`: the array waits for
        it."""
        layout = tensor.layout
        fields, dram = self._group(tensor, group)
        images = min(layout.group_images, layout.images - group * layout.group_images)
        instr = self._make(
            Opcode.STORE,
            layer,
            **fields,
            buffer=place.buffer,
            fold=layout.fold,
            n_b=1,
            n_y=layout.rows,
            n_x=layout.columns,
            n_c=layout.channels,
            base=place.base,
            stride_b=layout.group_vectors,
            stride_y=layout.columns * layout.channels,
            stride_x=layout.channels,
            urgent=urgent,
            height=layout.height,
            width=layout.width,
            n_valid=images,
        )
        return Op(
            instr,
            layer,
            f"{tensor.name} group {group}",
            max(fields["run_beats"], layout.group_vectors),
            fields["run_beats"],
            [place.range],
            [dram],
        )

    def load_weights(self, index: int, rows: Rows) -> list:
        """LOADW of weights and of the bias."""
        p, tensor = self.network.parameters[index], self.memory.weight[index]
        layout, ops = tensor.layout, []
        _, inputs, *kernel = p.weight_shape
        parts = [("weights", 0, layout.groups * kernel[0] * kernel[1], inputs, rows.base)]
        if p.bias:
            parts.append(("bias", layout.bias_offset, layout.groups, 1, rows.bias_base))
        for what, offset, outer, inner, base in parts:
            fields, dram = self._contiguous(FIXED, tensor.addr + offset, outer * inner, self.config.row_bytes)
            instr = self._make(Opcode.LOADW, p.name, **fields, n_outer=outer, n_inner=inner, base=base)
            ops.append(
                Op(
                    instr,
                    p.name,
                    what,
                    max(fields["run_beats"], outer * inner),
                    fields["run_beats"],
                    [dram],
                    [("wgt", base, base + outer * inner)],
                )
            )
        return ops

    def taps(self, index: int, last: bool) -> list:
        """Rows of the kernel as (first, count) that WU and UPDATE take at once: all, or the last one by itself where
        that can be done."""
        layout, rows = self.memory.weight[index].layout, self.layers[index].weight_shape[2]
        row = layout.inner // rows
        apart = last and rows > 1 and layout.groups == 1 and row * self.config.row_bytes % self.config.mem_bytes == 0
        return [(0, rows - 1), (rows - 1, 1)] if apart else [(0, rows)]

    def update(self, index: int, grads: Rows, held: Rows | None, taps: tuple) -> list:
        """UPDATE of the weights of some rows of the kernel, with the first one of the bias; `held`: their rows in the
        weight buffer, from where they are read."""
        p, tensor, previous = self.layers[index], self.memory.weight[index], self.memory.momentum[index]
        layout, ops, momentum = tensor.layout, [], self.network.optimiser == "momentum"
        inputs = self.network.parameters[index].weight_shape[1]
        first, inner = (n * layout.inner // p.weight_shape[2] for n in taps)
        parts = [
            (
                "weights",
                first * self.config.row_bytes,
                inner,
                grads.base + first,
                first,
                p.weight_update,
                held and dict(wgt_base=held.base + first, wgt_inner=inputs),
            )
        ]
        if p.bias and not first:
            parts.append(
                (
                    "bias",
                    layout.bias_offset,
                    1,
                    grads.bias_base,
                    layout.inner,
                    p.bias_update,
                    held and dict(wgt_base=held.bias_base, wgt_inner=1),
                )
            )
        for what, offset, inner, base, key, numbers, source in parts:
            words = layout.groups * inner
            fields, dram = self._contiguous(FIXED, tensor.addr + offset, words, self.config.row_bytes)
            _, dram_momentum = self._contiguous(FIXED, previous.addr + offset, words, self.config.row_bytes)
            drams = [dram, dram_momentum] if momentum else [dram]
            if not (0 <= numbers.lr_m <= COEF_MAX and 0 <= numbers.beta_m <= COEF_MAX):
                raise CompileError(
                    p.name, "learning rate or momentum coefficient", max(numbers.lr_m, numbers.beta_m), COEF_MAX
                )
            instr = self._make(
                Opcode.UPDATE,
                p.name,
                momentum=momentum,
                rounding=MODES[self.network.mode("param")],
                base_sel=FIXED,
                addr=fields["addr"],
                run_beats=fields["run_beats"],
                momentum_addr=dram_momentum[1] if momentum else 0,
                n_outer=layout.groups,
                n_inner=inner,
                base=base,
                shift_g=numbers.shift_g,
                shift_v=numbers.shift_v,
                shift_w=numbers.shift_w,
                lr_m=numbers.lr_m,
                beta_m=numbers.beta_m if momentum else 0,
                rnd_tag=random_tag(p.layer, "param"),
                key=key,
                n_words=words,
                resident=bool(source),
                **(source or {}),
            )
            reads, writes = [*drams, ("grad", base, base + words)], drams
            if source:
                reads[0] = ("wgt", source["wgt_base"], source["wgt_base"] + words)
            beats = (2 * len(drams) - bool(source)) * fields["run_beats"]
            ops.append(Op(instr, p.name, what, max(words, beats), beats, reads, writes))
        return ops

    # COMPUTE

    def _turn(self, name: str, access: int, storage: int, image: int) -> dict:
        """Rotations that place image `image`, the first of a group of fold `access`, inside its group of fold
        `storage`."""
        _, ih, ix = image_place(self.config.grid, storage, image)
        assert storage <= access
        return {f"{name}_rot_y": int(ih) << storage, f"{name}_rot_x": int(ix) << storage}

    def _operand(self, name: str, place: Place, access: int, image: int, shape) -> dict:
        tile = place.tile
        return {
            f"{name}_base": place.base,
            f"{name}_stride_y": tile.stride_y,
            f"{name}_stride_x": tile.stride_x,
            f"{name}_height": shape[1],
            f"{name}_width": shape[2],
            f"{name}_fold": tile.fold,
            **self._turn(name, access, tile.fold, image),
        }

    def _gate(self, gate: tuple, access: int, image: int) -> tuple:
        """Fields and range of the gate vectors of a group; gate = (first vector, tile)."""
        first, tile = gate
        base = first + image // (self.config.grid >> tile.fold) ** 2 * tile.size
        fields = dict(gate_base=base, gate_stride_y=tile.stride_y, gate_stride_x=tile.stride_x, gate_fold=tile.fold)
        return fields | self._turn("gate", access, tile.fold, image), ("gate", base, base + tile.size)

    def _common(self, fold: int, image: int, shape) -> dict:
        py = 1 << fold
        images = (self.config.grid >> fold) ** 2
        return dict(
            fold=fold,
            n_by=ceil_div(shape[1], py),
            n_bx=ceil_div(shape[2], py),
            height=shape[1],
            width=shape[2],
            n_base=image,
            n_valid=min(images, self.images - image),
        )

    def _column_groups(self, maps: int) -> dict:
        groups = ceil_div(maps, self.config.cols)
        return dict(n_g=groups, n_last=maps - (groups - 1) * self.config.cols)

    def splits(self, index: int) -> bool:
        """May groups of lanes share the channels of a layer's FP? Its rows of weights must then begin at a multiple of
        LANES."""
        return self.config.split and self.network.parameters[index].weight_shape[1] % self.config.lanes == 0

    def _split(self, index: int, image: int, rows: Rows) -> bool:
        """Do all pixels and images of a group lie in the first COLS lanes? Image 2 is in the lower half of the grid."""
        fold, grid = self.memory.folds[index].fp, self.config.grid
        lane_rows, images = (
            min(self.network.parameters[index].conv_shape[1], 1 << fold),
            min((grid >> fold) ** 2, self.images - image),
        )
        return (
            self.splits(index)
            and rows.base % self.config.lanes == 0
            and lane_rows <= self.config.cols // grid
            and images <= 2
        )

    def forward(self, index: int, image: int, source: Place, dest: Place, rows: Rows, train: bool, loss: bool) -> Op:
        """COMPUTE FP of the group that starts with `image`; gates are written when training, the last layer then gives
        the delta. The first layer is computed as the network has it: unfolding saves steps in WU only."""
        p, fold, memory = self.network.parameters[index], self.memory.folds[index].fp, self.memory
        layout, (outputs, inputs, *kernel) = memory.weight[index].layout, p.weight_shape
        split = self._split(index, image, rows)
        fields = dict(
            mode=FP,
            row_buf=source.buffer,
            dst_buf=dest.buffer,
            bias=p.bias,
            relu=p.relu,
            pool=bool(p.pool),
            rounding=MODES[self.network.mode("act")],
            shift=p.shift_fp,
            bias_exp=p.bias_exp,
            rnd_tag=random_tag(p.layer, "act"),
            n_ky=kernel[0],
            n_kx=kernel[1],
            n_c=inputs // (self.config.groups if split else 1),
            disp_y0=-p.pad[0],
            disp_x0=-p.pad[1],
            wgt_base=rows.base,
            wgt_stride_g=layout.inner,
            wgt_stride_ky=kernel[1] * inputs,
            wgt_stride_kx=inputs,
            wgt_stride_cg=self.config.lanes if split else self.config.cols,
            bias_base=rows.bias_base,
            split=split,
        )
        fields |= self._common(fold, image, p.conv_shape) | self._column_groups(outputs)
        fields |= self._operand("row", source, fold, image, p.in_shape) | self._operand(
            "dst", dest, fold, image, p.out_shape
        )
        writes, late = [dest.range], []
        if loss:
            gate, touched = self._gate((memory.target_gate, memory.target.tile), fold, image)
            numbers = self.network.loss_parameters
            fields |= gate | dict(
                loss=LOSSES[numbers.loss], t_pos=numbers.t_pos, t_neg=numbers.t_neg, loss_shift=numbers.shift
            )
            late.append(touched)
        elif train and memory.gate[index]:
            gate, touched = self._gate(memory.gate[index], fold, image)
            fields |= gate | dict(gate_write=1)
            writes.append(touched)
        return self._compute(
            p, fields, f"FP images {image}..", [source.range, ("wgt", rows.base, rows.end)], writes, late
        )

    def backward(self, index: int, image: int, source: Place, dest: Place, rows: Rows) -> list:
        """COMPUTE BP: the local gradient at the input of layer `index`, scaled by the gate unless the layer before
        pools. One for each window of blocks that the same taps reach."""
        p, fold, memory = self.layers[index], self.memory.folds[index].bp, self.memory
        before, layout, (outputs, inputs, *kernel) = self.layers[index - 1], memory.weight[index].layout, p.weight_shape
        common = dict(
            mode=BP,
            row_buf=source.buffer,
            dst_buf=dest.buffer,
            rounding=MODES[self.network.mode("delta")],
            shift=p.shift_bp,
            rnd_tag=random_tag(before.output_layer, "delta"),
            n_c=outputs,
            wgt_stride_g=self.config.cols,
            wgt_stride_ky=kernel[1] * inputs,
            wgt_stride_kx=inputs,
            wgt_stride_cg=layout.inner,
        )
        common |= self._common(fold, image, p.in_shape) | self._column_groups(inputs)
        operands = ["row", "dst"]
        for name, place, shape in (("row", source, delta_shape(p)), ("dst", dest, p.in_shape)):
            common |= self._operand(name, place, fold, image, shape)
        late = []
        if memory.gate[index - 1] and not before.pool:
            gate, touched = self._gate(memory.gate[index - 1], fold, image)
            common |= gate | dict(scale=1)
            operands.append("gate")
            late.append(touched)
        windows = [tap_windows(1 << fold, *sizes) for sizes in zip(p.in_shape[1:], delta_shape(p)[1:], kernel, p.pad)]
        ops = []
        for (by0, n_by, ky0, n_ky), (bx0, n_bx, kx0, n_kx) in product(*windows):
            fields = dict(
                by0=by0,
                n_by=n_by,
                bx0=bx0,
                n_bx=n_bx,
                n_ky=n_ky,
                n_kx=n_kx,
                disp_y0=p.pad[0] - ky0,
                disp_x0=p.pad[1] - kx0,
                wgt_base=rows.base + (ky0 * kernel[1] + kx0) * inputs,
            )
            for name in operands:
                up = fold - common[f"{name}_fold"]
                offset = (by0 << up) * common[f"{name}_stride_y"] + (bx0 << up) * common[f"{name}_stride_x"]
                fields[f"{name}_base"] = common[f"{name}_base"] + offset
            text = f"BP images {image}.." + f" blocks {by0},{bx0}.." * bool(by0 or bx0)
            ops.append(
                self._compute(
                    p, common | fields, text, [source.range, ("wgt", rows.base, rows.end)], [dest.range], late
                )
            )
        return ops

    def gradients(
        self, index: int, image: int, delta: Place, act: Place, grads: Rows, first: bool, taps: tuple
    ) -> list:
        """COMPUTE WU: adds the gradients of the group that starts with `image` for some rows of the kernel, with the
        first one those of the bias. Several, of windows of blocks, where one sum of the array could overflow: nothing
        would tell, unlike in the gradient buffer."""
        p, fold, memory = self.layers[index], self.memory.folds[index].fp, self.memory
        layout, shape, (outputs, inputs, *kernel) = memory.weight[index].layout, delta_shape(p), p.weight_shape
        fields = dict(
            mode=WU,
            row_buf=delta.buffer,
            bias=p.bias and not taps[0],
            grad_first=first,
            n_rg=layout.groups,
            n_ky=taps[1],
            n_kx=kernel[1],
            disp_y0=taps[0] - p.pad[0],
            disp_x0=-p.pad[1],
            grad_base=grads.base + taps[0] * kernel[1] * inputs,
            grad_stride_rg=layout.inner,
            grad_stride_ky=kernel[1] * inputs,
            grad_stride_kx=inputs,
            grad_bias_base=grads.bias_base,
            row_channels=outputs,
            col_channels=inputs,
        )
        fields |= self._common(fold, image, shape) | self._column_groups(inputs)
        fields |= self._operand("row", delta, fold, image, shape) | self._operand("col", act, fold, image, p.in_shape)
        touched = [("grad", grads.base, grads.end)]
        if taps[1] < kernel[0]:
            start = fields["grad_base"]
            touched = [("grad", start, start + taps[1] * kernel[1] * inputs)] + [
                ("grad", grads.bias_base, grads.end)
            ] * fields["bias"]
        text, ops = f"WU images {image}.." + f" taps {taps[0]}.." * (taps[1] < kernel[0]), []
        for by0, n_by, bx0, n_bx in self._exact_windows(p, fields["n_by"], fields["n_bx"]):
            window = dict(by0=by0, n_by=n_by, bx0=bx0, n_bx=n_bx, grad_first=first and not ops)
            for name in ("row", "col"):
                up = fold - fields[f"{name}_fold"]
                offset = (by0 << up) * fields[f"{name}_stride_y"] + (bx0 << up) * fields[f"{name}_stride_x"]
                window[f"{name}_base"] = fields[f"{name}_base"] + offset
            ops.append(
                self._compute(
                    p,
                    fields | window,
                    text + f" blocks {by0},{bx0}.." * bool(ops),
                    [delta.range, act.range],
                    touched,
                    touched,
                )
            )
        return ops

    def _exact_windows(self, p, rows: int, columns: int) -> list:
        """(by0, n_by, bx0, n_bx) of windows of rows x columns blocks whose COLS steps each keep every sum of WU in the
        accumulator."""
        steps = ((1 << self.config.acc_width - 1) - 1) >> 2 * self.network.data_width - 2
        most = steps // self.config.cols
        if not most:
            raise CompileError(p.name, "steps of a sum of a weight gradient", self.config.cols, steps)
        wide, high = min(most, columns), max(1, most // columns)
        return [
            (y, min(high, rows - y), x, min(wide, columns - x))
            for y in range(0, rows, high)
            for x in range(0, columns, wide)
        ]

    def _compute(self, p, fields, text, reads, writes, late) -> Op:
        instr = self._make(Opcode.COMPUTE, p.name, **fields)
        return Op(instr, p.name, text, compute_cycles(instr, self.config.cols)[0], 0, reads, writes, late)


def compute_cycles(instr: Instruction, cols: int) -> tuple:
    """(cycles, array steps) of a COMPUTE: the sum over its passes of max(steps, drained columns)."""
    blocks, taps = instr["n_by"] * instr["n_bx"], instr["n_ky"] * instr["n_kx"]
    if instr["mode"] == WU:
        each = blocks * cols
        total = instr["n_rg"] * taps * instr["n_g"]
        # A pass has at least COLS steps, so only the one with the sum column can be padded.
        return total * each + instr["n_rg"] * instr["bias"] * (each == cols), total * each
    steps = taps * instr["n_c"] + (instr["bias"] if instr["mode"] == FP else 0)
    columns = [cols] * (instr["n_g"] - 1) + [1 if instr["keep_out"] else instr["n_last"]]
    return blocks * sum(max(steps, n) for n in columns), blocks * steps * instr["n_g"]
