// SPDX-License-Identifier: Apache-2.0
// A top with AXI's clock, reset and interrupt, and an AXI4-Lite slave for its registers. The host's side of that slave: one access at a time, each
// channel after a wait of its own; rules of the answers.
#pragma once
#include "Vtop.h"
#include "front.h"

struct AxiTop : Front {
    Vtop top;

    explicit AxiTop(VerilatedContext* context) : top(context) {}
    ~AxiTop() override { top.final(); }
    bool irq() const override { return top.irq; }

    void reset(bool on) override {
        top.aresetn = !on;
        forget();
        reg_b.on = reg_r.on = false;
        reg_aw = reg_w = reg_ar = {};
        writing = reading = false;
    }

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

   protected:
    void drive_registers(Memory& mem) {
        reg_aw.drive(mem), reg_w.drive(mem), reg_ar.drive(mem);
        top.s_axil_awvalid = reg_aw.valid;
        top.s_axil_wvalid = reg_w.valid;
        top.s_axil_arvalid = reg_ar.valid;
        top.s_axil_bready = !mem.stalls();
        top.s_axil_rready = !mem.stalls();
    }

    void sample_registers(Memory& mem) {
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

   private:
    Offer reg_aw, reg_w, reg_ar;
    Held<uint64_t> reg_b, reg_r;
    bool writing = false, reading = false;
    unsigned place = 0;
};
