// SPDX-License-Identifier: Apache-2.0
// gc_engine_axi: every channel stalls by itself, and a slave that stalls also may take a write address only when its data are offered, as AXI4
// allows it.
#include "axil.h"

namespace {

// id, size, burst, lock, cache, prot of either address channel
struct Constants {
    unsigned id, size, burst, lock, cache, prot;
    bool legal() const { return id == 0 && 1u << size == kBeat && burst == 1 && lock == 0 && cache == 3 && prot == 0; }
};

struct Axi final : AxiTop {
    Held<Request> ar, aw;
    Held<WriteBeat> w;
    bool data_first = false, b = false;

    using AxiTop::AxiTop;
    const char* name() const override { return "sim-axi"; }
    const char* engine() const override { return "gc_engine_axi.u_engine"; }

    void withdraw() override { ar.on = aw.on = w.on = false; }
    void forget() override { withdraw(), data_first = false; }

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
        drive_registers(mem);
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
        sample_registers(mem);
    }
};

}  // namespace

Front* new_front(VerilatedContext* context) { return new Axi(context); }
