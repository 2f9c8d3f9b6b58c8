// SPDX-License-Identifier: Apache-2.0
// The engine by itself: native memory port and register port (doc/streams.md). A register access takes one cycle.
#include "Vtop.h"
#include "front.h"

namespace {

struct Native final : Front {
    Vtop top;
    Held<Request> read_request, write_request;
    Held<WriteBeat> write_data;
    bool writing = false, reading = false;

    explicit Native(VerilatedContext* context) : top(context) {}
    ~Native() override { top.final(); }
    const char* name() const override { return "sim"; }
    const char* engine() const override { return "gc_engine"; }
    bool irq() const override { return top.irq; }

    void reset(bool on) override {
        top.rst = on;
        forget();
    }

    void withdraw() override { read_request.on = write_request.on = write_data.on = false; }

    void clock(bool level) override {
        top.clk = level;
        top.eval();
    }

    void begin(bool write, unsigned addr, unsigned data) override {
        (write ? writing : reading) = true;
        top.s_reg_addr = addr;
        top.s_reg_wdata = data;
        top.s_reg_strb = 15;
    }

    bool done() override {
        value = top.m_reg_rdata;
        return true;
    }

    void drive(Memory& mem) override {
        mem.plan(mem.open < mem.writes.count && top.m_wdat_valid);
        bool last = false;
        unsigned resp = 0;
        if (mem.read) mem.give(&top.s_rdat_data, last, resp);
        top.m_rreq_ready = mem.read_room;
        top.m_wreq_ready = mem.write_room;
        top.m_wdat_ready = mem.write;
        top.s_rdat_valid = mem.read;
        top.s_rdat_last = last;
        top.s_rdat_resp = resp;
        top.s_wrsp_valid = mem.answer;
        top.s_wrsp_resp = mem.answer ? mem.respond() : 0;
        top.s_reg_write = writing;
        top.s_reg_read = reading;
    }

    void sample(Memory& mem) override {
        writing = reading = false;
        const Request read{top.m_rreq_addr, top.m_rreq_len + 1u}, write{top.m_wreq_addr, top.m_wreq_len + 1u};
        read_request.check(mem, kReadHeld, top.m_rreq_valid, mem.read_room, read);
        write_request.check(mem, kWriteHeld, top.m_wreq_valid, mem.write_room, write);
        const WriteBeat beat(top.m_wdat_valid, 0, 0, top.m_wdat_strb, top.m_wdat_last, &top.m_wdat_data);
        write_data.check(mem, kDataHeld, top.m_wdat_valid, mem.write, beat);
        if (mem.write && top.m_wdat_valid) mem.take(beat.data, beat.strobes, beat.last);
        if (mem.read_room && top.m_rreq_valid) mem.accept_read(read.addr, read.beats);
        if (mem.write_room && top.m_wreq_valid) mem.accept_write(write.addr, write.beats);
        mem.resetting &= top.m_rreq_valid || top.m_wreq_valid || top.m_wdat_valid;
    }
};

}  // namespace

Front* new_front(VerilatedContext* context) { return new Native(context); }
