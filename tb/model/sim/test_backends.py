# SPDX-License-Identifier: Apache-2.0
"""The five calls mean the same on every back end; a device on them trains as the reference trainer does."""

import numpy as np
import pytest

from gradcore.host.backends import EngineSession
from gradcore.host.boards import open_device
from gradcore.host.control import EngineError
from gradcore.host.device import Device
from gradcore.host.linux import DeviceError, UioBackend
from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.machine.backend import MachineBackend
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import STATE, ReferenceTrainer
from tb.model.host import stand_in
from tb.support.sim import ENGINES, SIZE, simulation

CONFIG = ENGINES["sim"]
STAND_INS = {"uio": stand_in.uio, "xdma": stand_in.xdma}  # files and pipes instead of a board


@pytest.fixture(params=["machine", *((name, stall) for name in ENGINES for stall in (0.0, 0.3)), *STAND_INS], ids=str)
def backend(request, tmp_path):
    """A back end; its engine is `backend.config`."""
    engine, config = None, CONFIG
    if request.param == "machine":
        backend = MachineBackend(config, SIZE)
    elif request.param in STAND_INS:
        engine, backend = STAND_INS[request.param](config, tmp_path, SIZE)
    else:
        name, stall = request.param
        backend, config = simulation(name, stall=stall, jitter=int(100 * stall), seed=3), ENGINES[name]
    backend.config = config
    yield backend
    backend.close()
    if engine:
        engine.close()


def run_program(backend, instructions, address=0x1000):
    """Run instructions; True when the interrupt came."""
    program = isa.assemble(instructions)
    backend.mem_write(address, program)
    backend.write32(reg.IRQ_ENABLE, 1)
    for offset, value in ((reg.PROG_BASE, address), (reg.PROG_BASE + 4, 0), (reg.PROG_LENGTH, len(instructions))):
        backend.write32(offset, value)
    registers = {base + part: 0 for base in reg.BASE for part in (0, 4)} | reg.window(0, 0, SIZE, reg.READ)
    for offset, value in registers.items():
        backend.write32(offset, value)
    backend.write32(reg.CTRL, reg.START)
    return backend.wait_irq(1.0)


def test_identifies_itself(backend):
    assert backend.read32(reg.ID) == reg.ID_VALUE and backend.read32(reg.VERSION) == reg.VERSION_VALUE
    assert (
        tuple(backend.read32(offset) for offset in (reg.CONFIG, reg.CONFIG2, reg.CONFIG3))
        == backend.config.config_registers
    )


def test_registers_keep_what_is_written(backend):
    values = {
        reg.SEED: 0xFFFFFFFF,
        reg.PROG_BASE: 0x12345640,
        reg.PROG_BASE + 4: 0xABC,
        reg.PROG_LENGTH: 77,
        reg.IRQ_ENABLE: 1,
    }
    values |= {base + part: 0x01010100 * (i + 1) >> 2 * part for i, base in enumerate(reg.BASE) for part in (0, 4)}
    values = {
        offset: value & (0xFFFF if offset % 8 == 4 and offset >= 0x20 and offset != reg.PROG_LENGTH else ~0)
        for offset, value in values.items()
    }
    for offset, value in values.items():
        backend.write32(offset, value)
    assert {offset: backend.read32(offset) for offset in values} == values
    read_only = (reg.ID, 0), (reg.CONFIG, 0), (reg.STATUS, 0xFFFFFFFF)
    for offset, value in read_only if backend.name not in STAND_INS else ():  # a file keeps what is written
        before = backend.read32(offset)
        backend.write32(offset, value)
        assert backend.read32(offset) == before


def test_memory_keeps_bytes(backend):
    rng = np.random.default_rng(2)
    origin = getattr(backend, "origin", 0)
    for address, size in ((0, 1), (1, 3), (SIZE - 7, 7), (4090, 100), (64, 0)):
        address, data = origin + address, rng.integers(0, 256, size, dtype=np.uint8)
        backend.mem_write(address, data)
        read = backend.mem_read(address, size)
        assert read.dtype == np.uint8 and (read == data).all()
        read[:] = 0  # a copy
        assert (backend.mem_read(address, size) == data).all()
    for call in (
        lambda: backend.mem_read(origin + SIZE - 1, 2),
        lambda: backend.mem_write(origin + SIZE, np.zeros(1, np.uint8)),
        lambda: backend.mem_read(origin - 1, 1),
    ):
        with pytest.raises(ValueError):
            call()


def test_no_interrupt_without_a_program(backend):
    backend.write32(reg.IRQ_ENABLE, 1)
    assert backend.wait_irq(0.001) is False
    assert backend.read32(reg.STATUS) == 0


def test_empty_program_ends_with_an_interrupt_each_time(backend):
    for _ in range(3):
        assert run_program(backend, [isa.instruction(isa.Opcode.END)]) is True
        assert backend.read32(reg.STATUS) == reg.DONE and backend.read32(reg.ERROR) == 0


def test_interrupt_can_be_masked(backend):
    run_program(backend, [isa.instruction(isa.Opcode.END)])
    backend.write32(reg.IRQ_ENABLE, 0)
    assert backend.wait_irq(0.001) is False
    assert backend.read32(reg.STATUS) & reg.DONE
    backend.write32(reg.IRQ_ENABLE, 1)
    assert backend.wait_irq(0.001) is True


NETWORKS = {
    "conv": Network(
        "conv", (2, 8, 8), (Conv(5, 3, 1, pool=2), Conv(6, 3, 1, pool=2), Dense(3)), learning_rate=0.02, minibatch=5
    ),
    "dense": Network(
        "dense",
        (3, 2, 3),
        (Dense(9, relu=True), Dense(4)),
        loss="square_hinge",
        optimiser="sgd",
        rounding="half_even",
        minibatch=17,
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_trains_and_infers_as_the_reference(backend, name):
    network = NETWORKS[name]
    rng = np.random.default_rng(5)
    device, reference = (
        Device(backend, network, backend.config, seed=9, origin=getattr(backend, "origin", 0)),
        ReferenceTrainer(network, 9),
    )
    for iteration, images in enumerate((network.minibatch, network.minibatch, 2)):
        x = rng.integers(-4096, 4097, (images, *network.shape))
        labels = rng.integers(0, network.classes, images)
        assert device.step(x, labels, iteration) == reference.step(x, labels, iteration)
        for mine, theirs in zip(device.weights(), reference.state, strict=True):
            assert all((mine[key] == theirs[key]).all() for key in STATE)
    x = rng.integers(-4096, 4097, (network.minibatch + 1, *network.shape))
    assert (device.outputs(x) == reference.forward(x)).all()
    device.load(reference.weights())
    assert all(
        (mine[key] == theirs[key]).all() for mine, theirs in zip(device.weights(), reference.state) for key in STATE
    )


def test_refuses_another_engine(backend):
    with pytest.raises(EngineError, match="compiled for"):
        Device(backend, NETWORKS["dense"], EngineConfig(grid=4, cols=8, mem_bytes=16))


def test_a_hang_is_told_with_what_each_engine_does():
    session = EngineSession(simulation(latency=1 << 15), NETWORKS["conv"], CONFIG, 1)
    session.device.timeout = 0.01
    with pytest.raises(EngineError, match="minibatch 7: .*did not end.*load idle, wload idle, compute idle"):
        session.step(np.zeros((5, 2, 8, 8), int), np.zeros(5, int), 7)
    assert session.device.backend.read32(reg.STATUS) == reg.FAILED and session.recoveries == 2
    session.close()


@pytest.mark.parametrize("name", ENGINES)
def test_counters_sum_to_the_cycles(name):
    backend = simulation(name)
    network = NETWORKS["conv"]
    with Device(backend, network, ENGINES[name]) as device:
        before = backend.cycles
        x = np.zeros((network.minibatch, *network.shape), np.int64)
        backend.record(1 << 12)
        device.step(x, np.zeros(network.minibatch, int), 0)
        counters, events = device.counters(), backend.events()[0]
        assert 0 < counters["cycles"] <= backend.cycles - before
    for engine in isa.ENGINES:
        parts = [
            value
            for name, value in counters.items()
            if name.startswith(engine + ".") and name.split(".")[1].split("_")[0] in ("busy", "wait", "idle")
        ]
        assert len(parts) == 8 and sum(parts) == counters["cycles"], engine
    for index, engine in enumerate(isa.ENGINES):
        ops = [op for op in device.compiled.train.ops if op.engine == index]
        mine = events[events["engine"] == index]
        assert [op.instr["tag"] for op in ops] == list(mine["tag"]), engine
        # Each instruction is busy one cycle before it starts: when its tokens are taken.
        assert int((mine["end"] - mine["start"]).sum()) + len(ops) == counters[f"{engine}.busy"] > 0


@pytest.mark.parametrize(
    "name, text",
    [
        ("uio:x", "is none of uio:N"),
        ("pci:0", "is none of uio:N"),
        ("uio:99", "/dev/uio99: No such file"),
        ("xdma:99", "/dev/xdma99_user"),
    ],
)
def test_device_that_is_not_there(name, text):
    with pytest.raises(DeviceError, match=text):
        open_device(name)


def test_a_map_that_is_too_small_names_the_file(tmp_path):
    engine, backend = stand_in.uio(CONFIG, tmp_path, SIZE)
    backend.close()
    engine.close()
    (tmp_path / "class" / "uio" / "uio7" / "maps" / "map1" / "size").write_text("not a number")
    with pytest.raises(DeviceError, match="map1/size"):
        UioBackend(7, tmp_path, tmp_path, tmp_path / "events")
