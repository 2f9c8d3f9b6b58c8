// SPDX-License-Identifier: Apache-2.0
// One compiled top with its DRAM behind a C interface: the front moves what the memory lets it, once per cycle (Sim::cycle); the engine's
// instructions can be recorded.
#include <memory>
#include <string>

#include "front.h"
#include "verilated_syms.h"

namespace {

constexpr unsigned kEngines = 5;
constexpr unsigned kTagBits = 11;
constexpr unsigned kPatience = 100000;  // cycles of one register access

enum Stop { kLimit = 0, kIrq = 1, kError = 2 };

struct Event {
    uint64_t start, end;
    uint32_t engine, tag;
};

struct Sim {
    VerilatedContext context;
    std::unique_ptr<Front> front{new_front(&context)};
    Memory mem;
    const uint8_t* is_active;
    const uint64_t* is_tag;
    const uint8_t* forgets = nullptr;

    std::vector<Event> events;
    uint64_t event_count = 0, starts[kEngines] = {}, tags = 0;
    unsigned active = 0;
    bool record = false;

    explicit Sim(uint64_t bytes) : mem(bytes) {
        is_active = static_cast<const uint8_t*>(find("", "sts_active")->datap());
        is_tag = static_cast<const uint64_t*>(find("", "sts_tag")->datap());
        if (const VerilatedVar* pulse = find("", "m_forget")) forgets = static_cast<const uint8_t*>(pulse->datap());
    }

    // A variable of the module at `place` below the engine; visible.vlt names those that can be found.
    const VerilatedVar* find(const std::string& place, const char* name) {
        const VerilatedScope* scope = context.scopeFind((std::string("TOP.") + front->engine() + place).c_str());
        return scope ? scope->varFind(name) : nullptr;
    }

    void trace() {
        const unsigned is = *is_active;
        const uint64_t tag = *is_tag;
        if (is == active && tag == tags) return;
        for (unsigned e = 0; e < kEngines; ++e) {
            const unsigned was_tag = tags >> (e * kTagBits) & ((1 << kTagBits) - 1), now_tag = tag >> (e * kTagBits) & ((1 << kTagBits) - 1);
            const bool was_on = active >> e & 1, is_on = is >> e & 1;
            if (was_on && (!is_on || was_tag != now_tag)) {
                events[event_count++ % events.size()] = Event{starts[e], mem.now, e, was_tag};
                starts[e] = mem.now;
            }
            if (is_on && !was_on) starts[e] = mem.now;
        }
        active = is, tags = tag;
    }

    void cycle() {
        front->drive(mem);
        front->clock(false);
        // What is shown may fall in the cycle of m_forget (a front hides it at once) or after it.
        const bool forgets_now = forgets && *forgets;
        if (forgets_now) front->withdraw();
        front->sample(mem);
        if (forgets_now) front->withdraw();
        front->clock(true);
        ++mem.now;
        if (record) trace();
    }

    void access(bool write, unsigned addr, unsigned value) {
        front->begin(write, addr, value);
        for (unsigned i = 0; i < kPatience; ++i) {
            cycle();
            if (front->done()) return;
        }
        mem.fail(kRegister, addr);
    }

    void reset(unsigned cycles) {
        front->reset(true);
        for (unsigned i = 0; i < cycles; ++i) cycle();
        front->reset(false);
        mem.reset();
        cycle();
    }
};

}  // namespace

extern "C" {

Sim* gc_new(uint64_t dram_bytes) {
    Sim* s = new Sim(dram_bytes);
    if (s->mem.dram) return s;
    delete s;
    return nullptr;
}
void gc_free(Sim* s) { delete s; }
const char* gc_name(Sim* s) { return s->front->name(); }
uint64_t gc_most(Sim* s) { return s->front->most(); }
unsigned gc_beat_bytes() { return kBeat; }
uint8_t* gc_dram(Sim* s) { return s->mem.dram; }

void gc_memory(Sim* s, unsigned bytes_per_cycle, unsigned latency, unsigned jitter, unsigned outstanding, unsigned stall_limit, uint64_t seed) {
    Memory& mem = s->mem;
    mem.bytes_per_cycle = bytes_per_cycle;
    mem.latency = latency;
    mem.jitter = jitter;
    mem.outstanding = outstanding;
    mem.stall_limit = stall_limit;
    mem.random = seed * 0x9E3779B97F4A7C15u | 1;
    mem.credit_cap = kBeat + bytes_per_cycle - std::gcd(kBeat, bytes_per_cycle);
}

// One fault to come: after so many good bursts, write or read; Memory::Fault.
void gc_fault(Sim* s, bool write, uint64_t after, unsigned what) { (write ? s->mem.write_fault : s->mem.read_fault) = {after, what}; }

void gc_revive(Sim* s) { s->mem.revive(); }

void gc_forget(Sim* s) { s->mem.forget(), s->front->forget(); }

// Rights of every page, or none to allow everything: a burst without the right is a broken rule.
void gc_rights(Sim* s, const uint8_t* rights) {
    s->mem.rights.clear();
    if (rights) s->mem.rights.assign(rights, rights + s->mem.dram_bytes / 4096);
}

// Bursts without their last beat or response.
unsigned gc_outstanding(Sim* s) { return s->mem.reads.count + s->mem.writes.count; }

void gc_reset(Sim* s, unsigned cycles) { s->reset(cycles); }

void gc_write32(Sim* s, unsigned addr, unsigned value) { s->access(true, addr, value); }

unsigned gc_read32(Sim* s, unsigned addr) {
    s->access(false, addr, 0);
    return s->front->value;
}

int gc_run(Sim* s, uint64_t cycles) {
    const uint64_t end = s->mem.now + cycles;
    while (s->mem.rule == kNone) {
        if (s->front->irq()) return kIrq;
        if (s->mem.now == end) return kLimit;
        s->cycle();
    }
    return kError;
}

// Room for `capacity` events, the oldest are overwritten; 0 switches the recording off.
void gc_record(Sim* s, unsigned capacity) {
    s->events.assign(capacity, Event{});
    s->event_count = 0;
    s->record = capacity != 0;
    s->active = 0;
    s->tags = 0;
    if (s->record) s->trace();
}

uint64_t gc_event_count(Sim* s) { return s->event_count; }
const Event* gc_events(Sim* s) { return s->events.data(); }

// 0 cycles, 1 read beats, 2 write beats, 3 broken rule, 4 its address (or cycle), 5 active engines, 6 their tags, 7 reads and 8 writes up to the one
// that meets the fault set, 0: no fault is to come; 9 faults that have struck
uint64_t gc_figure(Sim* s, unsigned which) {
    const auto left = [](const Memory::Fault& fault) { return fault.what ? fault.after + 1 : 0; };
    const Memory& mem = s->mem;
    const uint64_t figures[] = {mem.now, mem.read_beats, mem.write_beats, mem.rule, mem.rule_place, *s->is_active, *s->is_tag,
                                left(mem.read_fault), left(mem.write_fault), mem.struck};
    return figures[which];
}

// Words first.. of the memory in a gc_ram_sdp, named by its place below the engine, each in 64 bits; false when there is no such memory.
bool gc_words(Sim* s, const char* place, uint64_t first, uint64_t count, uint64_t* to) {
    const VerilatedVar* memory = s->find(std::string(".g_engine.") + place, "memory");
    if (!memory || memory->entSize() > sizeof *to || first + count > static_cast<uint64_t>(memory->elements(1))) return false;
    const uint8_t* words = static_cast<const uint8_t*>(memory->datap()) + first * memory->entSize();
    for (uint64_t i = 0; i < count; ++i) to[i] = 0, std::memcpy(&to[i], words + i * memory->entSize(), memory->entSize());
    return true;
}

}  // extern "C"
