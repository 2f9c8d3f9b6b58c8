// SPDX-License-Identifier: Apache-2.0
// The system of system.py in Verilator: the words of its DRAM, its serial port on the standard output. Runs until the LEDs show something, then
// writes DRAM to a file: simulate FILE BYTES CYCLES. Exit code: 0 when the LEDs show 1.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

constexpr uint64_t kBeat = sizeof Vtop::mem_read_data;

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    std::vector<uint8_t> dram;

    explicit Simulation(uint64_t bytes) : dram(bytes) {}
    ~Simulation() { top.final(); }

    uint8_t* at(uint64_t beat) {
        if ((beat + 1) * kBeat <= dram.size()) return &dram[beat * kBeat];
        std::fprintf(stderr, "access outside the DRAM, beat %llu\n", static_cast<unsigned long long>(beat));
        std::exit(2);
    }

    void cycle() {
        if (top.mem_read) std::memcpy(&top.mem_read_data, at(top.mem_read_beat), kBeat);
        top.clk = 0;
        top.eval();
        if (top.mem_write) write();
        if (top.serial_source_valid) std::putchar(top.serial_source_data), std::fflush(stdout);
        top.clk = 1;
        top.eval();
    }

    void write() {
        uint8_t beat[kBeat], *to = at(top.mem_write_beat);
        std::memcpy(beat, &top.mem_write_data, kBeat);
        for (uint64_t k = 0; k < kBeat; ++k)
            if (!(uint64_t(top.mem_write_mask) >> k & 1)) to[k] = beat[k];
    }
};

}  // namespace

int main(int, char** words) {
    Simulation is(std::strtoull(words[2], nullptr, 0));
    is.top.serial_source_ready = 1;
    is.top.rst = 1;
    for (int k = 0; k < 8; ++k) is.cycle();
    is.top.rst = 0;
    uint64_t cycles = std::strtoull(words[3], nullptr, 0);
    while (!is.top.leds && !is.top.mem_bad && cycles--) is.cycle();
    // What the engine has written is in the DRAM; a line may still be in the serial port.
    for (int k = 0; k < 1000; ++k) is.cycle();
    std::FILE* file = std::fopen(words[1], "wb");
    if (!file || std::fwrite(is.dram.data(), 1, is.dram.size(), file) != is.dram.size() || std::fclose(file)) return std::perror(words[1]), 2;
    return is.top.leds == 1 && !is.top.mem_bad ? 0 : 1;
}
