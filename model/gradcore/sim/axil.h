// SPDX-License-Identifier: Apache-2.0
// The host's side of a top's AXI4-Lite slave: one access at a time, each channel after a wait of its own; rules of the answers.
#pragma once
#include "Vtop.h"
#include "front.h"

struct AxiLite {
    Offer aw, w, ar;
    Held<uint64_t> b, r;
    bool writing = false, reading = false;
    unsigned place = 0;

    void reset() { *this = AxiLite{}; }

    void begin(Vtop& top, bool write, unsigned addr, unsigned data) {
        place = addr;
        (write ? writing : reading) = true;
        aw.wanted = w.wanted = write;
        ar.wanted = !write;
        top.s_axil_awaddr = top.s_axil_araddr = addr;
        top.s_axil_wdata = data;
        top.s_axil_wstrb = 15;
    }

    bool done() const { return !writing && !reading; }

    void drive(Vtop& top, Memory& mem) {
        aw.drive(mem), w.drive(mem), ar.drive(mem);
        top.s_axil_awvalid = aw.valid;
        top.s_axil_wvalid = w.valid;
        top.s_axil_arvalid = ar.valid;
        top.s_axil_bready = !mem.stalls();
        top.s_axil_rready = !mem.stalls();
    }

    void sample(Vtop& top, Memory& mem, unsigned& value) {
        b.check(mem, kRegisterHeld, top.s_axil_bvalid, top.s_axil_bready, top.s_axil_bresp);
        r.check(mem, kRegisterHeld, top.s_axil_rvalid, top.s_axil_rready, uint64_t(top.s_axil_rresp) << 32 | top.s_axil_rdata);
        if (top.s_axil_bvalid && (!writing || aw.wanted || w.wanted)) mem.fail(kUnasked, mem.now);
        if (top.s_axil_rvalid && (!reading || ar.wanted)) mem.fail(kUnasked, mem.now);
        if (top.s_axil_bvalid && top.s_axil_bready) {
            if (top.s_axil_bresp) mem.fail(kRegister, place);
            writing = false;
        }
        if (top.s_axil_rvalid && top.s_axil_rready) {
            if (top.s_axil_rresp) mem.fail(kRegister, place);
            value = top.s_axil_rdata;
            reading = false;
        }
        aw.sample(top.s_axil_awready), w.sample(top.s_axil_wready), ar.sample(top.s_axil_arready);
    }
};
