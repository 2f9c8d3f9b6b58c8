// SPDX-License-Identifier: Apache-2.0
// gc_engine_avalon: waitrequest at random on both hosts, gaps before read data and write responses; register accesses after a random wait, one
// at a time.
#include "Vtop.h"
#include "front.h"

namespace {

struct Avalon final : Front {
    Vtop top;
    Held<Request> read_request;
    Held<WriteBeat> write_beat;
    Request burst{};
    uint64_t left = 0;  // beats of the write burst under way
    Offer access;
    bool writing = false, reading = false;
    unsigned place = 0;

    explicit Avalon(VerilatedContext* context) : top(context) {}
    ~Avalon() override { top.final(); }
    const char* name() const override { return "sim-avalon"; }
    const char* engine() const override { return "gc_engine_avalon.u_engine"; }
    bool irq() const override { return top.ins_irq_irq; }

    void reset(bool on) override {
        top.rsi_reset_reset = on;
        forget();
        writing = reading = false;
        access = {};
    }

    void withdraw() override { read_request.on = write_beat.on = false; }
    void forget() override { withdraw(), left = 0; }

    void clock(bool level) override {
        top.csi_clock_clk = level;
        top.eval();
    }

    void begin(bool write, unsigned addr, unsigned data) override {
        place = addr;
        (write ? writing : reading) = access.wanted = true;
        top.avs_csr_address = addr / 4;
        top.avs_csr_writedata = data;
        top.avs_csr_byteenable = 15;
    }

    bool done() override { return !writing && !reading; }

    void drive(Memory& mem) override {
        mem.plan(top.avm_write_write && (left || mem.writes.count < mem.outstanding));
        bool last = false;
        unsigned resp = 3;
        if (mem.read) mem.give(&top.avm_read_readdata, last, resp);
        top.avm_read_waitrequest = !mem.read_room;
        top.avm_read_readdatavalid = mem.read;
        top.avm_read_response = resp;
        const bool answer = mem.answer && !mem.stalls();
        top.avm_write_waitrequest = !mem.write;
        top.avm_write_writeresponsevalid = answer;
        top.avm_write_response = answer ? mem.respond() : 3;

        access.drive(mem);
        top.avs_csr_write = access.valid && writing;
        top.avs_csr_read = access.valid && reading;
    }

    void sample(Memory& mem) override {
        const Request read{top.avm_read_address, top.avm_read_burstcount}, write{top.avm_write_address, top.avm_write_burstcount};
        read_request.check(mem, kReadHeld, top.avm_read_read, mem.read_room, read);
        const WriteBeat beat(top.avm_write_write, write.addr, write.beats, top.avm_write_byteenable, left == 1, &top.avm_write_writedata);
        write_beat.check(mem, kDataHeld, top.avm_write_write, mem.write, beat);
        if (top.avm_read_read && mem.read_room) mem.accept_read(read.addr, read.beats);
        if (top.avm_write_write && mem.write) {
            if (!left) {
                mem.accept_write(write.addr, write.beats);
                burst = write, left = write.beats;
            } else if (std::memcmp(&burst, &write, sizeof burst)) {
                mem.fail(kBurstChanged, write.addr);
            }
            if (mem.rule == kNone) mem.take(beat.data, beat.strobes, left == 1);
            --left;
        }
        mem.resetting &= top.avm_read_read || top.avm_write_write;

        if ((top.avs_csr_writeresponsevalid && (!writing || access.wanted)) || (top.avs_csr_readdatavalid && (!reading || access.wanted)))
            mem.fail(kUnasked, mem.now);
        if (top.avs_csr_writeresponsevalid || top.avs_csr_readdatavalid) {
            if (top.avs_csr_response) mem.fail(kRegister, place);
            value = top.avs_csr_readdata;
            writing = reading = false;
        }
        access.sample(!top.avs_csr_waitrequest);
    }
};

}  // namespace

Front* new_front(VerilatedContext* context) { return new Avalon(context); }
