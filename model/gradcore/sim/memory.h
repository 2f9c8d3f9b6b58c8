// SPDX-License-Identifier: Apache-2.0
// The DRAM behind every front: in order, with a latency and a bandwidth that reads and writes share. A write burst is applied only when it is
// answered, so that a missing token shows as wrong data. A front asks `plan` once per cycle what may move, moves it on its bus, and
// reports what it saw; the first broken rule of the bus ends the run.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#ifndef GC_MEM_W
#define GC_MEM_W 512
#endif
#ifndef GC_BURST
#define GC_BURST 32
#endif

constexpr unsigned kBeat = GC_MEM_W / 8;
constexpr unsigned kMaxBeats = GC_BURST;
constexpr uint64_t kAllBytes = kBeat == 64 ? ~uint64_t(0) : (uint64_t(1) << (kBeat % 64)) - 1;

// The texts are in backend.py. A rule is told with an address or a cycle; those of a channel come in pairs: withdrawn, changed.
enum Rule {
    kNone = 0,
    kReadRange = 1,
    kWriteRange = 2,
    kAlignment = 3,
    kBorder = 4,
    kLast = 5,
    kReadHeld = 6,
    kWriteHeld = 8,
    kDataHeld = 10,
    kLength = 12,
    kStrobes = 13,
    kConstants = 14,
    kBurstChanged = 15,
    kRefused = 16,
    kRegister = 17,
    kRegisterHeld = 18,
    kUnasked = 20,
    kReadForbidden = 21,
    kWriteForbidden = 22,
    kClosed = 23
};

constexpr uint64_t kNever = ~uint64_t(0);

struct Burst {
    uint64_t addr, due;
    unsigned beats, done, resp;
    std::vector<uint8_t> data;
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

struct Memory {
    uint8_t* dram;
    uint64_t dram_bytes;
    unsigned bytes_per_cycle = 64, latency = 60, jitter = 0, outstanding = 16, stall_limit = 0, credit = 0, credit_cap = 64;
    uint64_t random = 1, now = 0, read_beats = 0, write_beats = 0;
    Queue reads, writes;
    unsigned open = 0;  // writes.at(open) takes the next data beat
    bool read_turn = true;
    unsigned rule = kNone;
    uint64_t rule_place = 0;
    std::vector<uint8_t> rights;  // of each 4 KiB page, 1 read, 2 write; empty: everything is allowed

    // What may move in this cycle: a read beat, a write beat, a request of each side, an answer to a write.
    bool read = false, write = false, read_room = false, write_room = false, answer = false;

    // What meets the burst before which `after` others of its kind go well: an error response, no answer (nor do those behind it get one, they keep
    // their order), or it is not even taken, nor any beat of its kind.
    enum { kSilent = 4, kDeaf = 5 };
    struct Fault {
        uint64_t after = 0;
        unsigned what = 0;
        bool deaf() const { return what == kDeaf && !after; }
        unsigned next() { return what && after-- == 0 ? std::exchange(what, 0u) : 0u; }
    } read_fault, write_fault;
    uint64_t struck = 0;  // bursts that met an error response or no answer
    bool resetting = false;  // takes nothing until what the engine shows has been withdrawn

    explicit Memory(uint64_t bytes) : dram(static_cast<uint8_t*>(std::calloc(bytes, 1))), dram_bytes(bytes) {
        reads.slots.resize(64);
        writes.slots.resize(64);
        for (Burst& b : writes.slots) b.data.resize(kMaxBeats * kBeat);
    }
    ~Memory() { std::free(dram); }
    Memory(const Memory&) = delete;

    void reset() { forget(), resetting = false, rule = kNone; }

    // The memory alone is reset: nothing is owed, what was not answered has no effect.
    void forget() { reads.count = writes.count = open = 0, read_fault = write_fault = {}, resetting = true; }

    // It answers what it left unanswered, and takes what it refused.
    void revive() {
        read_fault = write_fault = {};
        for (unsigned i = 0; i < reads.count; ++i) wake(reads.at(i));
        for (unsigned i = 0; i < writes.count; ++i) wake(writes.at(i));
    }

    void fail(unsigned r, uint64_t place) {
        if (rule == kNone) rule = r, rule_place = place;
    }

    uint64_t draw() { return random ^= random << 13, random ^= random >> 7, random ^= random << 17; }
    bool stalls() { return stall_limit && (draw() & 0xffff) < stall_limit; }
    uint64_t due() { return now + latency + (jitter ? draw() % (jitter + 1) : 0); }

    // Once per cycle; `offered`: a beat of the open write burst waits.
    void plan(bool offered) {
        credit = std::min(credit + bytes_per_cycle, credit_cap);
        read = reads.count && reads.at(0).due <= now && !stalls();
        write = offered && !write_fault.deaf() && !resetting && !stalls();
        if (credit < (read + write) * kBeat) {
            if (credit < kBeat)
                read = write = false;
            else if (read && write)
                (read_turn ? write : read) = false, read_turn = !read_turn;
        }
        credit -= (read + write) * kBeat;
        read_room = reads.count < outstanding && !read_fault.deaf() && !resetting && !stalls();
        write_room = writes.count < outstanding && !write_fault.deaf() && !resetting && !stalls();
        answer = open && writes.at(0).due <= now;
    }

    // The read beat of this cycle: data, last and response.
    void give(void* data, bool& last, unsigned& resp) {
        Burst& b = reads.at(0);
        std::memcpy(data, dram + b.addr + b.done * kBeat, kBeat);
        last = ++b.done == b.beats;
        resp = b.resp;
        if (last) reads.pop();
        ++read_beats;
    }

    // The write response of this cycle; the burst takes effect.
    unsigned respond() {
        const Burst& b = writes.at(0);
        if (!b.resp) std::memcpy(dram + b.addr, b.data.data(), b.beats * kBeat);
        const unsigned resp = b.resp;
        writes.pop();
        --open;
        return resp;
    }

    void accept_read(uint64_t addr, unsigned beats) {
        if (!admissible(addr, beats, kReadRange)) return;
        Burst& b = reads.push(addr, beats);
        b.resp = read_fault.next(), struck += b.resp != 0;
        b.due = b.resp == kSilent ? kNever : due();
    }

    void accept_write(uint64_t addr, unsigned beats) {
        if (!admissible(addr, beats, kWriteRange)) return;
        Burst& b = writes.push(addr, beats);
        b.resp = write_fault.next(), struck += b.resp != 0;
    }

    // A beat of the open write burst.
    void take(const void* data, uint64_t strobes, bool last) {
        Burst& b = writes.at(open);
        std::memcpy(&b.data[b.done * kBeat], data, kBeat);
        ++write_beats;
        if (strobes != kAllBytes) fail(kStrobes, b.addr);
        if ((++b.done == b.beats) != last) fail(kLast, b.addr);
        if (b.done == b.beats) b.due = b.resp == kSilent ? kNever : due(), ++open;
    }

    // Do beats lie in the memory, where they may?
    bool reaches(uint64_t addr, unsigned beats, Rule range) {
        if (addr > dram_bytes || dram_bytes - addr < static_cast<uint64_t>(beats) * kBeat) return fail(range, addr), false;
        if (!rights.empty() && !(rights[addr / 4096] & range)) return fail(range == kReadRange ? kReadForbidden : kWriteForbidden, addr), false;
        return true;
    }

   private:
    void wake(Burst& b) {
        if (b.resp == kSilent) b.resp = 0, b.due = due();
    }

    bool admissible(uint64_t addr, unsigned beats, Rule range) {
        if (addr % kBeat) return fail(kAlignment, addr), false;
        if (!beats || beats > kMaxBeats) return fail(kLength, addr), false;
        if (addr / 4096 != (addr + beats * kBeat - 1) / 4096) return fail(kBorder, addr), false;
        return reaches(addr, beats, range);
    }
};
