// SPDX-License-Identifier: Apache-2.0
// gc_engine_axi: every channel stalls by itself, and a slave that stalls also may take a write address only when its data are offered, as AXI4
// allows it.
#include "Vtop.h"
#include "front.h"

namespace {

// id, size, burst, lock, cache, prot of either address channel
struct Constants {
    unsigned id, size, burst, lock, cache, prot;
    bool legal() const { return id == 0 && 1u << size == kBeat && burst == 1 && lock == 0 && cache == 3 && prot == 0; }
};

struct Axi final : Front {
    Vtop top;
    Held<Request> ar, aw;
    Held<WriteBeat> w;
    bool data_first = false, b = false;
    Offer reg_aw, reg_w, reg_ar;
    Held<uint64_t> reg_b, reg_r;
    bool writing = false, reading = false;
    unsigned place = 0;

    explicit Axi(VerilatedContext* context) : top(context) {}
    ~Axi() override { top.final(); }
    const char* name() const override { return "sim-axi"; }
    const char* engine() const override { return "gc_engine_axi.u_engine"; }
    bool irq() const override { return top.irq; }

    void reset(bool on) override {
        top.aresetn = !on;
        forget();
        reg_b.on = reg_r.on = false;
        reg_aw = reg_w = reg_ar = {};
        writing = reading = false;
    }

    void withdraw() override { ar.on = aw.on = w.on = false; }
    void forget() override { withdraw(), data_first = false; }

    void clock(bool level) override {
        top.aclk = level;
        top.eval();
    }

    void begin(bool write, unsigned addr, unsigned data) override {
        place = addr;
        (write ? writing : reading) = true;
        reg_aw.wanted = reg_w.wanted = write;
        reg_ar.wanted = !write;
        top.s_axil_awaddr = top.s_axil_araddr = addr;
        top.s_axil_wdata = data;
        top.s_axil_wstrb = 15;
    }

    bool done() override { return !writing && !reading; }

    void drive(Memory& mem) override {
        mem.plan(mem.open < mem.writes.count && top.m_axi_wvalid);
        bool last = false;
        unsigned resp = 3;
        if (mem.read) mem.give(&top.m_axi_rdata, last, resp);
        top.m_axi_arready = mem.read_room;
        top.m_axi_rvalid = mem.read;
        top.m_axi_rlast = last;
        top.m_axi_rresp = resp;
        top.m_axi_awready = mem.write_room && (!data_first || top.m_axi_wvalid);
        top.m_axi_wready = mem.write;
        b = mem.answer && !mem.stalls();
        top.m_axi_bvalid = b;
        top.m_axi_bresp = b ? mem.respond() : 3;

        reg_aw.drive(mem), reg_w.drive(mem), reg_ar.drive(mem);
        top.s_axil_awvalid = reg_aw.valid;
        top.s_axil_wvalid = reg_w.valid;
        top.s_axil_arvalid = reg_ar.valid;
        top.s_axil_bready = !mem.stalls();
        top.s_axil_rready = !mem.stalls();
    }

    void sample(Memory& mem) override {
        const Request read{top.m_axi_araddr, top.m_axi_arlen + 1u}, write{top.m_axi_awaddr, top.m_axi_awlen + 1u};
        ar.check(mem, kReadHeld, top.m_axi_arvalid, top.m_axi_arready, read);
        aw.check(mem, kWriteHeld, top.m_axi_awvalid, top.m_axi_awready, write);
        const WriteBeat beat(top.m_axi_wvalid, 0, 0, top.m_axi_wstrb, top.m_axi_wlast, &top.m_axi_wdata);
        w.check(mem, kDataHeld, top.m_axi_wvalid, mem.write, beat);
        if ((mem.read && !top.m_axi_rready) || (b && !top.m_axi_bready)) mem.fail(kRefused, mem.now);
        if (mem.write && top.m_axi_wvalid) mem.take(beat.data, beat.strobes, beat.last);
        if (top.m_axi_arvalid && top.m_axi_arready) {
            const Constants is{top.m_axi_arid, top.m_axi_arsize, top.m_axi_arburst, top.m_axi_arlock, top.m_axi_arcache, top.m_axi_arprot};
            if (!is.legal()) mem.fail(kConstants, read.addr);
            mem.accept_read(read.addr, read.beats);
        }
        if (top.m_axi_awvalid && top.m_axi_awready) {
            const Constants is{top.m_axi_awid, top.m_axi_awsize, top.m_axi_awburst, top.m_axi_awlock, top.m_axi_awcache, top.m_axi_awprot};
            if (!is.legal()) mem.fail(kConstants, write.addr);
            mem.accept_write(write.addr, write.beats);
            data_first = mem.stall_limit && mem.draw() & 1;
        }
        mem.resetting &= top.m_axi_arvalid || top.m_axi_awvalid || top.m_axi_wvalid;
        registers(mem);
    }

    void registers(Memory& mem) {
        reg_b.check(mem, kRegisterHeld, top.s_axil_bvalid, top.s_axil_bready, top.s_axil_bresp);
        reg_r.check(mem, kRegisterHeld, top.s_axil_rvalid, top.s_axil_rready, uint64_t(top.s_axil_rresp) << 32 | top.s_axil_rdata);
        if (top.s_axil_bvalid && (!writing || reg_aw.wanted || reg_w.wanted)) mem.fail(kUnasked, mem.now);
        if (top.s_axil_rvalid && (!reading || reg_ar.wanted)) mem.fail(kUnasked, mem.now);
        if (top.s_axil_bvalid && top.s_axil_bready) {
            if (top.s_axil_bresp) mem.fail(kRegister, place);
            writing = false;
        }
        if (top.s_axil_rvalid && top.s_axil_rready) {
            if (top.s_axil_rresp) mem.fail(kRegister, place);
            value = top.s_axil_rdata;
            reading = false;
        }
        reg_aw.sample(top.s_axil_awready), reg_w.sample(top.s_axil_wready), reg_ar.sample(top.s_axil_arready);
    }
};

}  // namespace

Front* new_front(VerilatedContext* context) { return new Axi(context); }
