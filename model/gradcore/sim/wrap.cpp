// SPDX-License-Identifier: Apache-2.0
// One compiled engine with its DRAM behind a C interface. The memory is in order, has a latency and a bandwidth that reads and writes
// share, and applies a write burst only when it answers it, so that a missing token shows as wrong data. It also checks the rules of
// the native memory port; the first broken rule ends the run. Everything that happens once per cycle is in Sim::cycle.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_syms.h"

#ifndef GC_MEM_W
#define GC_MEM_W 512
#endif

namespace {

constexpr unsigned kBeat = GC_MEM_W / 8;
constexpr unsigned kMaxBeats = 256;
constexpr unsigned kEngines = 5;
constexpr unsigned kTagBits = 11;

enum Stop { kLimit = 0, kIrq = 1, kError = 2 };
enum Rule {
    kNone = 0,
    kReadRange = 1,
    kWriteRange = 2,
    kAlignment = 3,
    kBorder = 4,
    kLast = 5,
    kReadDropped = 6,
    kWriteDropped = 7,
    kDataDropped = 8,
    kReadForbidden = 9,
    kWriteForbidden = 10
};

struct Event {
    uint64_t start, end;
    uint32_t engine, tag;
};

struct Burst {
    uint64_t addr, due;
    unsigned beats, done, resp;
    std::vector<uint8_t> data;
    std::vector<uint64_t> strb;
};

// A ring of bursts; slots keep their buffers, so nothing is allocated while the clock runs.
struct Queue {
    std::vector<Burst> slots;
    unsigned head = 0, count = 0;
    Burst& at(unsigned i) { return slots[(head + i) % slots.size()]; }
    Burst& push(uint64_t addr, unsigned beats) {
        Burst& b = at(count++);
        b.addr = addr, b.beats = beats, b.done = 0, b.due = 0, b.resp = 0;
        return b;
    }
    void pop() { head = (head + 1) % slots.size(), --count; }
};

struct Sim {
    VerilatedContext context;
    Vtop* top;
    uint8_t* dram;
    uint64_t dram_bytes;

    unsigned bytes_per_cycle = 64, latency = 60, outstanding = 16, stall_limit = 0, credit = 0, credit_cap = 64;
    uint64_t random = 1, now = 0, read_beats = 0, write_beats = 0;
    Queue reads, writes;
    unsigned open = 0;  // writes.at(open) takes the next data beat
    bool read_turn = true;

    // The burst before which this many others of its kind go well gets an error response; 0: none.
    struct Fault {
        uint64_t after = 0;
        unsigned resp = 0;
        unsigned next() { return resp && after-- == 0 ? std::exchange(resp, 0u) : 0u; }
    } read_fault, write_fault;

    unsigned rule = kNone;
    uint64_t rule_addr = 0;
    std::vector<uint8_t> rights;  // of each 4 KiB page, 1 read, 2 write; empty: everything is allowed
    bool held_read = false, held_write = false, held_data = false;

    std::vector<Event> events;
    uint64_t event_count = 0, starts[kEngines] = {}, tags = 0;
    unsigned active = 0;
    bool record = false;

    explicit Sim(uint64_t bytes) : top(new Vtop(&context)), dram(static_cast<uint8_t*>(std::calloc(bytes, 1))), dram_bytes(bytes) {
        reads.slots.resize(64);
        writes.slots.resize(64);
        for (Burst& b : writes.slots) b.data.resize(kMaxBeats * kBeat), b.strb.resize(kMaxBeats);
    }
    ~Sim() {
        top->final();
        delete top;
        std::free(dram);
    }

    void fail(Rule r, uint64_t addr) {
        if (rule == kNone) rule = r, rule_addr = addr;
    }

    bool stalls() {
        if (!stall_limit) return false;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        return (random & 0xffff) < stall_limit;
    }

    bool admissible(uint64_t addr, unsigned beats, Rule range) {
        if (addr % kBeat) return fail(kAlignment, addr), false;
        if (addr / 4096 != (addr + beats * kBeat - 1) / 4096) return fail(kBorder, addr), false;
        if (addr > dram_bytes || dram_bytes - addr < static_cast<uint64_t>(beats) * kBeat) return fail(range, addr), false;
        if (!rights.empty() && !(rights[addr / 4096] & range)) return fail(range == kReadRange ? kReadForbidden : kWriteForbidden, addr), false;
        return true;
    }

    static Burst& new_burst(Queue& queue, Fault& fault, uint64_t addr, unsigned len) {
        Burst& b = queue.push(addr, len + 1u);
        b.resp = fault.next();
        return b;
    }

    static void commit(uint8_t* dram, const Burst& b) {
        constexpr uint64_t all = kBeat == 64 ? ~uint64_t(0) : (uint64_t(1) << (kBeat % 64)) - 1;
        for (unsigned i = 0; i < b.beats; ++i) {
            uint8_t* to = dram + b.addr + i * kBeat;
            const uint8_t* from = &b.data[i * kBeat];
            if (b.strb[i] == all)
                std::memcpy(to, from, kBeat);
            else
                for (unsigned k = 0; k < kBeat; ++k)
                    if (b.strb[i] >> k & 1) to[k] = from[k];
        }
    }

    void take_write_beat() {
        Burst& b = writes.at(open);
        std::memcpy(&b.data[b.done * kBeat], &top->m_wdat_data, kBeat);
        b.strb[b.done] = top->m_wdat_strb;
        ++write_beats;
        if ((++b.done == b.beats) != static_cast<bool>(top->m_wdat_last)) fail(kLast, b.addr);
        if (b.done == b.beats) b.due = now + latency, ++open;
    }

    void trace() {
        const unsigned is = top->sts_active;
        const uint64_t tag = top->sts_tag;
        if (is == active && tag == tags) return;
        for (unsigned e = 0; e < kEngines; ++e) {
            const unsigned was_tag = tags >> (e * kTagBits) & ((1 << kTagBits) - 1), is_tag = tag >> (e * kTagBits) & ((1 << kTagBits) - 1);
            const bool was_on = active >> e & 1, is_on = is >> e & 1;
            if (was_on && (!is_on || was_tag != is_tag)) {
                events[event_count++ % events.size()] = Event{starts[e], now, e, was_tag};
                starts[e] = now;
            }
            if (is_on && !was_on) starts[e] = now;
        }
        active = is, tags = tag;
    }

    void cycle() {
        credit = std::min(credit + bytes_per_cycle, credit_cap);
        bool read = reads.count && reads.at(0).due <= now && !stalls();
        bool write = open < writes.count && top->m_wdat_valid && !stalls();
        if (credit < (read + write) * kBeat) {
            if (credit < kBeat)
                read = write = false;
            else if (read && write)
                (read_turn ? write : read) = false, read_turn = !read_turn;
        }
        credit -= (read + write) * kBeat;

        const bool read_room = reads.count < outstanding && !stalls(), write_room = writes.count < outstanding && !stalls();
        const bool answer = open && writes.at(0).due <= now;
        top->m_rreq_ready = read_room;
        top->m_wreq_ready = write_room;
        top->m_wdat_ready = write;
        top->s_wrsp_valid = answer;
        top->s_rdat_valid = read;
        top->s_wrsp_resp = answer ? writes.at(0).resp : 0;
        top->s_rdat_resp = 0;
        if (read) {
            Burst& b = reads.at(0);
            std::memcpy(&top->s_rdat_data, dram + b.addr + b.done * kBeat, kBeat);
            top->s_rdat_last = ++b.done == b.beats;
            top->s_rdat_resp = b.resp;
            if (b.done == b.beats) reads.pop();
            ++read_beats;
        }
        if (answer) {
            if (!writes.at(0).resp) commit(dram, writes.at(0));
            writes.pop();
            --open;
        }
        top->clk = 0;
        top->eval();

        if (held_read && !top->m_rreq_valid) fail(kReadDropped, now);
        if (held_write && !top->m_wreq_valid) fail(kWriteDropped, now);
        if (held_data && !top->m_wdat_valid) fail(kDataDropped, now);
        held_read = top->m_rreq_valid && !read_room;
        held_write = top->m_wreq_valid && !write_room;
        held_data = top->m_wdat_valid && !write;
        if (write && top->m_wdat_valid) take_write_beat();
        if (read_room && top->m_rreq_valid && admissible(top->m_rreq_addr, top->m_rreq_len + 1u, kReadRange))
            new_burst(reads, read_fault, top->m_rreq_addr, top->m_rreq_len).due = now + latency;
        if (write_room && top->m_wreq_valid && admissible(top->m_wreq_addr, top->m_wreq_len + 1u, kWriteRange))
            new_burst(writes, write_fault, top->m_wreq_addr, top->m_wreq_len);

        top->clk = 1;
        top->eval();
        ++now;
        if (record) trace();
    }

    void reset(unsigned cycles) {
        reads.count = writes.count = open = 0;
        held_read = held_write = held_data = false;
        rule = kNone;
        top->s_reg_write = top->s_reg_read = 0;
        top->rst = 1;
        for (unsigned i = 0; i < cycles; ++i) cycle();
        top->rst = 0;
        rule = kNone;
        held_read = held_write = held_data = false;
        cycle();
    }
};

}  // namespace

extern "C" {

Sim* gc_new(uint64_t dram_bytes) {
    Sim* s = new Sim(dram_bytes);
    if (s->dram) return s;
    delete s;
    return nullptr;
}
void gc_free(Sim* s) { delete s; }
unsigned gc_beat_bytes() { return kBeat; }
uint8_t* gc_dram(Sim* s) { return s->dram; }

void gc_memory(Sim* s, unsigned bytes_per_cycle, unsigned latency, unsigned outstanding, unsigned stall_limit, uint64_t seed) {
    s->bytes_per_cycle = bytes_per_cycle;
    s->latency = latency;
    s->outstanding = outstanding;
    s->stall_limit = stall_limit;
    s->random = seed * 0x9E3779B97F4A7C15u | 1;
    s->credit_cap = kBeat + bytes_per_cycle - std::gcd(kBeat, bytes_per_cycle);
}

// One error response to come: after so many good bursts, write or read.
void gc_fault(Sim* s, bool write, uint64_t after, unsigned resp) { (write ? s->write_fault : s->read_fault) = {after, resp}; }

// Rights of every page, or none to allow everything: a burst without the right is a broken rule.
void gc_rights(Sim* s, const uint8_t* rights) {
    s->rights.clear();
    if (rights) s->rights.assign(rights, rights + s->dram_bytes / 4096);
}

// Bursts without their last beat or response.
unsigned gc_outstanding(Sim* s) { return s->reads.count + s->writes.count; }

void gc_reset(Sim* s, unsigned cycles) { s->reset(cycles); }

void gc_write32(Sim* s, unsigned addr, unsigned value) {
    s->top->s_reg_addr = addr;
    s->top->s_reg_wdata = value;
    s->top->s_reg_write = 1;
    s->cycle();
    s->top->s_reg_write = 0;
}

unsigned gc_read32(Sim* s, unsigned addr) {
    s->top->s_reg_addr = addr;
    s->top->s_reg_read = 1;
    s->cycle();
    s->top->s_reg_read = 0;
    return s->top->m_reg_rdata;
}

int gc_run(Sim* s, uint64_t cycles) {
    const uint64_t end = s->now + cycles;
    while (s->rule == kNone) {
        if (s->top->irq) return kIrq;
        if (s->now == end) return kLimit;
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

// 0 cycles, 1 read beats, 2 write beats, 3 broken rule, 4 its address (or cycle), 5 active engines, 6 their tags
uint64_t gc_figure(Sim* s, unsigned which) {
    const uint64_t figures[] = {s->now, s->read_beats, s->write_beats, s->rule, s->rule_addr, s->top->sts_active, s->top->sts_tag};
    return figures[which];
}

// Words first.. of the memory in a ram_sdp, named by its place below the top, each in 64 bits; false when there is no such memory.
bool gc_words(Sim* s, const char* place, uint64_t first, uint64_t count, uint64_t* to) {
    const VerilatedScope* scope = s->context.scopeFind((std::string("TOP.") + place).c_str());
    const VerilatedVar* memory = scope ? scope->varFind("memory") : nullptr;
    if (!memory || memory->entSize() > sizeof *to || first + count > static_cast<uint64_t>(memory->elements(1))) return false;
    const uint8_t* words = static_cast<const uint8_t*>(memory->datap()) + first * memory->entSize();
    for (uint64_t i = 0; i < count; ++i) to[i] = 0, std::memcpy(&to[i], words + i * memory->entSize(), memory->entSize());
    return true;
}

}  // extern "C"
