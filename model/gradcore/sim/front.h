// SPDX-License-Identifier: Apache-2.0
// A top of the design as the simulation sees it: pins on one side, the memory and register accesses on the other. native.cpp, axi.cpp and
// avalon.cpp define `new_front`; one of them is built with its top.
#pragma once
#include "memory.h"
#include "verilated.h"

// Rule of a handshake: what is offered stays, unchanged, until it is taken.
template <class Payload>
struct Held {
    bool on = false;
    Payload payload;
    void check(Memory& mem, unsigned rule, bool valid, bool ready, const Payload& now) {
        if (on && !valid) mem.fail(rule, mem.now);
        if (on && valid && std::memcmp(&payload, &now, sizeof now)) mem.fail(rule + 1, mem.now);
        on = valid && !ready;
        if (on) payload = now;
    }
};

struct Request {
    uint64_t addr, beats;
};

// `addr` and `beats` only where each beat carries them.
struct WriteBeat {
    uint64_t addr = 0, beats = 0, strobes = 0, last = 0;
    uint8_t data[kBeat] = {};
    WriteBeat() = default;
    WriteBeat(bool valid, uint64_t addr, uint64_t beats, uint64_t strobes, bool last, const void* from)
        : addr(addr), beats(beats), strobes(strobes), last(last) {
        if (valid) std::memcpy(data, from, kBeat);
    }
};

struct Front {
    virtual ~Front() = default;
    virtual const char* name() const = 0;    // of the back end
    virtual const char* engine() const = 0;  // place of the engine's module
    virtual void reset(bool on) = 0;         // the pin; what is under way is forgotten
    virtual void clock(bool level) = 0;      // the pin, and evaluate
    virtual void drive(Memory& mem) = 0;     // before the clock: what is given and taken in this cycle
    virtual void sample(Memory& mem) = 0;    // what moved in this cycle, rules
    virtual void withdraw() = 0;             // what the engine offers may go without having been taken
    virtual void forget() { withdraw(); }    // the memory's side of what is under way
    virtual bool irq() const = 0;
    virtual uint64_t most() const { return kNever; }  // bytes of memory that it can reach
    // A register access: begun, then clocked until `done`; a read's data are in `value` then.
    virtual void begin(bool write, unsigned addr, unsigned data) = 0;
    virtual bool done() = 0;
    unsigned value = 0;
};

// One channel of a register access: offered after a random wait, then held until taken.
struct Offer {
    bool wanted = false, valid = false;
    void drive(Memory& mem) { valid = wanted && (valid || !mem.stalls()); }
    void sample(bool ready) {
        if (valid && ready) wanted = valid = false;
    }
};

Front* new_front(VerilatedContext* context);
