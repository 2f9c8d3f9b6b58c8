# SPDX-License-Identifier: Apache-2.0
"""Avalon-MM around the front: a memory for its two hosts that checks their rules, and a host for its register agent."""

import random
from collections import deque

import cocotb
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles


class AvalonMemory:
    """Serves `dut`'s hosts avm_read and avm_write; `bytes` is its content. Checks that a stalled request does not
    change, that bursts are aligned, stay inside 4 KiB and keep address and count, and that beats are whole.

    `pause`: chance of a waitrequest, of a gap before a read beat and before a response. `faults`: response codes by
    (kind, number of the burst).
    """

    def __init__(self, dut, clock, beat, size=1 << 17, pause=0.0, latency=(1, 30)):
        self.dut, self.beat, self.pause, self.latency = dut, beat, pause, latency
        self.bytes, self.faults, self.reads, self.writes, self.answers = bytearray(size), {}, [], [], 0
        self.clock = clock
        for serve in (self._serve_reads, self._serve_writes):
            cocotb.start_soon(serve())

    def read(self, address, size):
        return bytes(self.bytes[address : address + size])

    def write(self, address, data):
        self.bytes[address : address + len(data)] = data

    def _legal(self, address, beats):
        assert address % self.beat == 0 and 1 <= beats <= 256, f"{beats} beats at {address:#x}"
        assert address // 4096 == (address + beats * self.beat - 1) // 4096, "burst crosses 4 KiB"
        return address, beats

    def _due(self, now):
        return now + random.randint(*self.latency)

    async def _serve_reads(self):
        dut, queue, held, now = self.dut, deque(), None, 0
        while True:
            wait, send = (
                random.random() < self.pause,
                bool(queue) and queue[0][0] <= now and random.random() >= self.pause,
            )
            dut.avm_read_waitrequest.value, dut.avm_read_readdatavalid.value = int(wait), int(send)
            dut.avm_read_response.value = queue[0][2] if send else random.randrange(4)
            dut.avm_read_readdata.value = (
                int.from_bytes(self.read(queue[0][1], self.beat), "little")
                if send
                else random.getrandbits(8 * self.beat)
            )
            await ReadOnly()
            if send:
                queue.popleft()
                self.answers += 1
            if dut.avm_read_read.value:
                request = self._legal(int(dut.avm_read_address.value), int(dut.avm_read_burstcount.value))
                assert held in (None, request), "read request changed under waitrequest"
                held = request if wait else None
                if not wait:
                    response, due = self.faults.get(("read", len(self.reads)), 0), self._due(now)
                    queue += [(due, request[0] + i * self.beat, response) for i in range(request[1])]
                    self.reads.append(request)
            else:
                assert held is None, "read request withdrawn"
            await cycles(self.clock, 1)
            now += 1

    async def _serve_writes(self):
        dut, queue, held, burst, now = self.dut, deque(), None, None, 0
        while True:
            wait, answer = (
                random.random() < self.pause,
                bool(queue) and queue[0][0] <= now and random.random() >= self.pause,
            )
            dut.avm_write_waitrequest.value, dut.avm_write_writeresponsevalid.value = int(wait), int(answer)
            dut.avm_write_response.value = queue[0][1] if answer else random.randrange(4)
            await ReadOnly()
            if answer:
                _, response, data = queue.popleft()
                self.answers += 1
                for address, word in data if not response else ():
                    self.write(address, word)
            if dut.avm_write_write.value:
                place = self._legal(int(dut.avm_write_address.value), int(dut.avm_write_burstcount.value))
                beat = place, int(dut.avm_write_writedata.value), int(dut.avm_write_byteenable.value)
                assert held in (None, beat), "write beat changed under waitrequest"
                assert burst is None or burst[0] == place, "address or burstcount changed inside a burst"
                assert beat[2] == (1 << self.beat) - 1, "byte enables"
                held = beat if wait else None
                if not wait:
                    burst = burst or (place, [])
                    burst[1].append((place[0] + len(burst[1]) * self.beat, beat[1].to_bytes(self.beat, "little")))
                    if len(burst[1]) == place[1]:
                        queue.append((self._due(now), self.faults.get(("write", len(self.writes)), 0), burst[1]))
                        self.writes.append(place)
                        burst = None
            else:
                assert held is None, "write beat withdrawn"
            await cycles(self.clock, 1)
            now += 1


class AvalonHost:
    """Accesses to a register agent whose pins have the prefix `prefix`, any number of them under way."""

    def __init__(self, dut, clock, prefix):
        self.clock, self.pins = (
            clock,
            {
                name: getattr(dut, prefix + name)
                for name in (
                    "address",
                    "read",
                    "write",
                    "writedata",
                    "byteenable",
                    "readdata",
                    "readdatavalid",
                    "waitrequest",
                    "response",
                    "writeresponsevalid",
                )
            },
        )
        for name in ("address", "read", "write", "writedata", "byteenable"):
            self.pins[name].value = 0
        self.waiting = deque()
        cocotb.start_soon(self._collect())

    async def _collect(self):
        pins = self.pins
        while True:
            await ReadOnly()
            valid = {"read": bool(pins["readdatavalid"].value), "write": bool(pins["writeresponsevalid"].value)}
            assert not all(valid.values()), "two answers in one cycle"
            if any(valid.values()):
                kind, done = self.waiting.popleft()
                assert valid[kind], "answers out of order"
                done += [int(pins["response"].value), int(pins["readdata"].value) if kind == "read" else None]
            await cycles(self.clock, 1)

    async def begin(self, kind, offset, value=0, enable=15):
        """Issue an access; returns the list that will hold [response, data]."""
        pins, done = self.pins, []
        pins["address"].value, pins["writedata"].value, pins["byteenable"].value, pins[kind].value = (
            offset // 4,
            value,
            enable,
            1,
        )
        while True:
            await ReadOnly()
            taken = not pins["waitrequest"].value
            if taken:
                self.waiting.append((kind, done))
            await cycles(self.clock, 1)
            if taken:
                break
        pins[kind].value = 0
        return done

    async def access(self, kind, offset, value=0, enable=15):
        """[response, data] of one access."""
        done = await self.begin(kind, offset, value, enable)
        for _ in range(20):
            if done:
                return done
            await cycles(self.clock, 1)
        raise AssertionError(f"no answer to a {kind}")

    async def read(self, offset):
        response, data = await self.access("read", offset)
        assert response == 0
        return data

    async def write(self, offset, value):
        assert (await self.access("write", offset, value))[0] == 0
