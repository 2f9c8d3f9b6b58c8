# SPDX-License-Identifier: Apache-2.0
"""The engine's control registers from the host: start, wait, stop, recover. Works on any back end
(gradcore.host.engine_port) and needs no network.

However a wait ends, the engine is stopped and quiet before the caller hears of it; where it is not, the exception says
so. Waiting calls the back end's `wait_irq`, so simulated time passes as well.
"""

from collections.abc import Callable

from gradcore.host.engine_port import Backend
from gradcore.isa import registers as reg
from gradcore.isa.instruction import ENGINES

PATIENCE = 30.0  # seconds for a stopped program to end: a silent memory counts as dead after WATCHDOG cycles
LATE = 1.0  # seconds for answers that a memory still owes
FIRST, LONGEST = 0.01, 1.0  # seconds between two looks at STATUS
STATES = {
    reg.BUSY: "busy",
    reg.DONE: "done",
    reg.FAILED: "failed",
    reg.GRAD_OVERFLOW: "gradient overflow",
    reg.BUS_OPEN: "memory owes answers",
}
ENDED = reg.DONE | reg.FAILED
IRQS = reg.IRQ_DONE | reg.IRQ_FAILED


class EngineError(RuntimeError):
    """The engine stopped with an error or did not finish. Attributes: code, index (instruction), address
    (doc/registers.md, "Errors")."""

    def __init__(
        self, message: str, code: int | None = None, index: int | None = None, address: int | None = None
    ) -> None:
        self.code, self.index, self.address = code, index, address
        super().__init__(message)


class EngineBusy(EngineError):
    """The engine runs a program that somebody else has started or left behind; nothing has been touched."""


class EngineHung(EngineError):
    """The memory owes answers to bursts of a program that has ended: nothing can be started."""


class EngineReset(EngineError):
    """The engine was reset while a program ran."""


class EngineTimeout(EngineError):
    """The program did not end in time and was stopped. `code` and `index` are those of the stop."""


def require_quiet(backend: Backend) -> None:
    """Raise EngineBusy or EngineHung when a program runs or the memory owes answers. Buffers that are being cleared are
    waited for."""
    status = backend.read32(reg.STATUS)
    if status & reg.BUSY:
        _pause(backend, reg.BUSY, _clearing(backend))
        status = backend.read32(reg.STATUS)
    if status & reg.BUSY:
        raise EngineBusy(
            f"the engine is busy (STATUS {status:#x}) with a program that was started elsewhere or left behind: "
            "gradcore.host.control.stop(backend) ends it, on a board also `gradcore doctor --device NAME --stop`"
        )
    if status & reg.BUS_OPEN:
        raise _hung(backend)


def execute(backend: Backend, timeout: float, what: str, patience: float = PATIENCE) -> int:
    """Run the program that the registers point to; returns STATUS with done or failed set. `what` names the program in
    messages.

    Raises EngineBusy, EngineHung (nothing was started), EngineTimeout, EngineReset, EngineError (the start was
    ignored). After any exception, also KeyboardInterrupt, the engine has been stopped; a note or the message says
    whether it is quiet.
    """
    require_quiet(backend)
    try:
        _start(backend)
        status = _wait(backend, timeout)
        doing = "" if status is not None else _doing(backend)
    except BaseException as error:
        error.add_note(f"{what}: {_halt(backend, patience)}")
        raise
    if status is None:
        said = _halt(backend, patience)
        raise EngineTimeout(f"{what} did not end in {timeout:g} s, {doing}; {said}", *error_registers(backend))
    if not status & ENDED:
        raise EngineReset(f"the engine was reset while {what} ran (STATUS {status:#x}): all is as after power-on")
    return status


def stop(backend: Backend, patience: float = PATIENCE) -> int:
    """Stop the program that runs, if one does; returns STATUS, not busy. Raises EngineHung when the engine stays busy
    for `patience` seconds."""
    status = backend.read32(reg.STATUS)
    if not status & reg.BUSY:
        return status
    backend.write32(reg.IRQ_ENABLE, IRQS)
    backend.write32(reg.CTRL, reg.STOP)
    ended = _wait(backend, patience)
    if ended is None:
        raise EngineHung(f"the engine is still busy {patience:g} s after the stop: reset it together with its memory")
    return ended


def recover(backend: Backend, force: bool = False, late: float = LATE, patience: float = PATIENCE) -> list[str]:
    """Make the engine ready for a start, whatever has happened; returns what had to be done, as lines of text.

    A running program is stopped. Answers that the memory owes are awaited for `late` seconds; then `force` forgets
    them, which is right only if the memory has been reset or is dead: an answer that comes later is taken for that of a
    new burst. Raises EngineHung without `force`.
    """
    done = []
    if backend.read32(reg.STATUS) & reg.BUSY:
        stop(backend, patience)
        done.append("stopped a program")
    backend.write32(reg.IRQ_STATUS, IRQS)
    if backend.read32(reg.STATUS) & reg.BUS_OPEN:
        if _pause(backend, reg.BUS_OPEN, late):
            done.append("late answers of the memory have come")
        elif not force:
            raise _hung(backend)
        else:
            backend.write32(reg.CTRL, reg.FORCE)
            if not _pause(backend, reg.BUS_OPEN, LATE):
                raise EngineHung("the engine does not take the forced reset: reset it together with its memory")
            done.append("forgot the answers that the memory owes")
    return done


def error_registers(backend: Backend) -> tuple[int | None, int | None, int | None]:
    """(code, index, address) of the last program; all None if it did not fail."""
    if not backend.read32(reg.STATUS) & reg.FAILED:
        return None, None, None
    error = backend.read32(reg.ERROR)
    return error & 0xFF, error >> 8, read64(backend, reg.ERROR_ADDR)


def read64(backend: Backend, offset: int) -> int:
    """A register of two words, the low one first: of a counter it keeps the high one."""
    return backend.read32(offset) | backend.read32(offset + 4) << 32


def write64(backend: Backend, offset: int, value: int) -> None:
    """A register of two words."""
    backend.write32(offset, value & 0xFFFFFFFF)
    backend.write32(offset + 4, value >> 32)


def counters(backend: Backend) -> dict[str, int]:
    """Counters of the last program by name (gradcore.isa.registers.COUNTER_NAMES)."""
    return {name: read64(backend, reg.COUNTERS + 8 * index) for index, name in reg.COUNTER_NAMES.items()}


def failure(backend: Backend, status: int, describe: Callable[[int], str]) -> EngineError:
    """The error of the program that has just failed with `status`; describe(index) names its instruction."""
    code, index, address = error_registers(backend)
    assert code is not None and index is not None
    where = f" (address {address:#x})" if code in reg.WITH_ADDRESS else ""
    owes = "; the memory owes answers: recover() before the next run" if status & reg.BUS_OPEN else ""
    text = f"{reg.ERRORS.get(code, f'error {code}')} at {describe(index)}{where}{owes}"
    return EngineError(text, code, index, address)


def state_text(backend: Backend) -> str:
    """The state of the engine in words."""
    status = backend.read32(reg.STATUS)
    words = [name for bit, name in STATES.items() if status & bit] or ["idle"]
    code, index, _ = error_registers(backend)
    if code is not None:
        words.append(f"code {code} ({reg.ERRORS.get(code, 'unknown')}) at instruction {index}")
    return ", ".join(words)


def _hung(backend: Backend) -> EngineHung:
    return EngineHung(
        f"the memory owes answers to bursts of the program before ({state_text(backend)}): repair it, then recover(); "
        "or reset it, with its interconnect, then recover(force=True)",
        *error_registers(backend),
    )


def _start(backend: Backend) -> None:
    """Start the program and check that the engine took the start. DONE may still be that of the program before;
    IRQ_STATUS is not."""
    backend.write32(reg.IRQ_STATUS, IRQS)
    backend.write32(reg.CTRL, reg.START)
    for _ in range(100):
        if backend.read32(reg.STATUS) & reg.BUSY or backend.read32(reg.IRQ_STATUS) & IRQS:
            return
    raise EngineError(f"the engine ignored the start, STATUS {backend.read32(reg.STATUS):#x}")


def _wait(backend: Backend, timeout: float) -> int | None:
    """STATUS as soon as busy has fallen; None after `timeout` seconds."""
    waited, part = 0.0, FIRST
    while True:
        part = min(part, timeout - waited)
        backend.wait_irq(part)
        status = backend.read32(reg.STATUS)
        if not status & reg.BUSY:
            return status
        waited, part = waited + part, min(2 * part, LONGEST)
        if waited >= timeout:
            return None


def _pause(backend: Backend, bit: int, seconds: float) -> bool:
    """Wait until a bit of STATUS is clear; False if it is still set after `seconds`. There is no interrupt for this."""
    waited, part = 0.0, FIRST / 10
    while backend.read32(reg.STATUS) & bit:
        if waited >= seconds:
            return False
        if backend.wait_irq(part):
            backend.write32(reg.IRQ_STATUS, IRQS)  # of the program before: the next wait is one
        waited, part = waited + part, min(2 * part, LONGEST)
    return True


def _clearing(backend: Backend) -> float:
    """Seconds after which all buffers are cleared: one word of the deepest per cycle. A board is taken to run at 100
    MHz."""
    depths = backend.read32(reg.CONFIG2)
    cycles = 2 << max(depths >> shift & 0xFF for shift in (0, 8, 16, 24))
    return max(0.01, cycles / getattr(backend, "cycles_per_second", 100_000_000))


def _halt(backend: Backend, patience: float) -> str:
    """Stop the engine and say how that went. Raises nothing: the first error must not be hidden."""
    try:
        before = backend.read32(reg.STATUS)
        stop(backend, patience)
        after = state_text(backend)
    except Exception as error:
        return f"the engine could NOT be stopped: {error}"
    if backend.read32(reg.STATUS) & reg.BUS_OPEN:
        return f"stopped, but the engine is NOT quiet ({after}): nothing can be started before recover()"
    return f"{'stopped, ' if before & reg.BUSY else ''}the engine is quiet ({after})"


def _doing(backend: Backend) -> str:
    """What each engine is doing: its counters that still count, and the tag of its instruction where the back end knows
    it."""
    places = {name: reg.COUNTERS + 8 * index for index, name in reg.COUNTER_NAMES.items() if "." in name}
    before, after = ({name: backend.read32(offset) for name, offset in places.items()} for _ in range(2))
    tags, found = getattr(backend, "executing", {}), []
    for number, engine in enumerate(ENGINES):
        for name in places:
            if name.startswith(f"{engine}.") and after[name] != before[name]:
                tag = f" tag {tags[number]}" if name == f"{engine}.busy" and number in tags else ""
                found.append(name.replace(".", " ") + tag)
    return ", ".join(found) or "no engine is at work"
