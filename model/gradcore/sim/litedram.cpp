// SPDX-License-Identifier: Apache-2.0
// The engine behind LiteDRAM (gradcore.litex.simulation): order, bandwidth and latencies are those of its controller, what is read and written
// is in the simulation's memory. Of the bursts nothing is seen; addresses are checked beat by beat.
#include "axil.h"

namespace {

constexpr unsigned kBeatBits = 25;  // of a beat's number: 15 of the row, 3 of the bank, 7 of the column

struct LiteDram final : AxiTop {
    using AxiTop::AxiTop;
    const char* name() const override { return "sim-litedram"; }
    const char* engine() const override { return "gc_engine_litedram.u_axi.u_engine"; }
    uint64_t most() const override { return kBeat << kBeatBits; }

    void withdraw() override {}

    void drive(Memory& mem) override {
        if (top.mem_read) {
            const uint64_t addr = uint64_t(top.mem_read_beat) * kBeat;
            if (mem.reaches(addr, 1, kReadRange)) std::memcpy(&top.mem_read_data, mem.dram + addr, kBeat), ++mem.read_beats;
        }
        drive_registers(mem);
    }

    void sample(Memory& mem) override {
        if (top.mem_write) {
            const uint64_t addr = uint64_t(top.mem_write_beat) * kBeat;
            if (top.mem_write_mask) mem.fail(kStrobes, addr);
            if (mem.reaches(addr, 1, kWriteRange)) std::memcpy(mem.dram + addr, &top.mem_write_data, kBeat), ++mem.write_beats;
        }
        if (top.mem_bad) mem.fail(kClosed, mem.now);
        sample_registers(mem);
    }
};

}  // namespace

Front* new_front(VerilatedContext* context) { return new LiteDram(context); }
