/* SPDX-License-Identifier: Apache-2.0 */
/* Trains a network for some minibatches: copies its image to the DRAM, runs an iteration for each minibatch, says the
   loss. Headers: gradcore_regs.h of the engine, csr.h and mem.h of LiteX, net.h of `gradcore export`, minibatches.h
   and soc.h of train.py. */
#include "csr.h"
#include "gradcore_regs.h"
#include "mem.h"
#include "minibatches.h"
#include "net.h"
#include "soc.h"

enum { TRAINED = 1, FAILED = 2 };

static volatile void *const regs = (volatile void *)GRADCORE_BASE;

static uint32_t csr_read(uint32_t address) { return *(volatile uint32_t *)address; }
static void csr_write(uint32_t address, uint32_t value) { *(volatile uint32_t *)address = value; }

static void say(const char *text)
{
    for (; *text; text++) {
        while (csr_read(CSR_UART_TXFULL_ADDR))
            ;
        csr_write(CSR_UART_RXTX_ADDR, *text);
    }
}

static void say_hex(uint64_t value)
{
    char text[17] = {0};
    for (int k = 15; k >= 0; k--, value >>= 4)
        text[k] = "0123456789abcdef"[value & 15];
    say(text);
}

static void copy(uint32_t to, const uint32_t *from, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes / 4; k++)
        ((volatile uint32_t *)to)[k] = from[k];
}

/* Addresses are multiples of 4 KiB. */
static void open_window(uint32_t n, uint32_t first, uint32_t end, uint32_t rights)
{
    gc_write64(regs, GC_REG_WINDOW_BASE(n), first | rights);
    gc_write64(regs, GC_REG_WINDOW_END(n), end);
}

static uint32_t mix32(uint32_t x)
{
    x += x << 10; x ^= x >> 6; x += x << 3; x ^= x >> 11; x += x << 15;
    return x;
}

/* The interrupt as the processor sees it: a bit of VexRiscv's register of pending interrupts (0xfc0), which shows those
   that are in its mask (0xbc0). Traps stay off. */
static void wait_for_engine(void)
{
    uint32_t pending;
    do
        asm volatile("csrr %0, 0xfc0" : "=r"(pending));
    while (!(pending & 1u << GRADCORE_INTERRUPT));
}

static int prepare(uint32_t place)
{
    if (GC_READ32(regs, GC_REG_ID) != GC_ID_RESET || GC_READ32(regs, GC_REG_CONFIG) != GC_NETWORK_CONFIG
        || GC_READ32(regs, GC_REG_CONFIG2) != GC_NETWORK_CONFIG2 || GC_READ32(regs, GC_REG_CONFIG3) != GC_NETWORK_CONFIG3)
        return -1;
    copy(place, gc_network_image, sizeof gc_network_image);
    open_window(0, place + GC_NETWORK_STATE, place + GC_NETWORK_IMAGES, GC_WINDOW_BASE_READ | GC_WINDOW_BASE_WRITE);
    open_window(1, place, place + GC_NETWORK_STATE, GC_WINDOW_BASE_READ);
    open_window(2, place + GC_NETWORK_IMAGES, place + GC_NETWORK_MEMORY, GC_WINDOW_BASE_READ);
    gc_write64(regs, GC_REG_PROG_BASE, place + GC_NETWORK_TRAIN);
    GC_WRITE32(regs, GC_REG_PROG_LENGTH, GC_NETWORK_TRAIN_LENGTH);
    gc_write64(regs, GC_REG_BASE(0), place + GC_NETWORK_STATE);
    gc_write64(regs, GC_REG_BASE(1), place + GC_NETWORK_IMAGES);
    gc_write64(regs, GC_REG_BASE(2), place + GC_NETWORK_TARGETS);
    GC_WRITE32(regs, GC_REG_WATCHDOG, 1u << 20);
    GC_WRITE32(regs, GC_REG_IRQ_ENABLE, GC_IRQ_ENABLE_DONE | GC_IRQ_ENABLE_FAILED);
    csr_write(CSR_GRADCORE_EV_ENABLE_ADDR, 1);
    asm volatile("csrw 0xbc0, %0" :: "r"(1u << GRADCORE_INTERRUPT));
    return 0;
}

int main(void)
{
    const uint32_t place = MAIN_RAM_BASE;

    if (prepare(place)) {
        say("no engine that the network was compiled for\n");
        csr_write(CSR_LEDS_OUT_ADDR, FAILED);
        return 1;
    }
    for (uint32_t iteration = 0; iteration < MINIBATCHES; iteration++) {
        copy(place + GC_NETWORK_IMAGES, images[iteration], sizeof images[iteration]);
        copy(place + GC_NETWORK_TARGETS, targets[iteration], sizeof targets[iteration]);
        GC_WRITE32(regs, GC_REG_SEED, mix32(GC_NETWORK_SEED + iteration));
        GC_WRITE32(regs, GC_REG_CTRL, GC_CTRL_START);
        wait_for_engine();
        GC_WRITE32(regs, GC_REG_IRQ_STATUS, GC_IRQ_STATUS_DONE | GC_IRQ_STATUS_FAILED);
        if (!(GC_READ32(regs, GC_REG_STATUS) & GC_STATUS_DONE)) {
            say("error ");
            say_hex(GC_READ32(regs, GC_REG_ERROR));
            say("\n");
            csr_write(CSR_LEDS_OUT_ADDR, FAILED);
            return 1;
        }
        say("loss ");
        say_hex(gc_read64(regs, GC_REG_LOSS));
        say(" cycles ");
        say_hex(gc_counter(regs, GC_COUNTER_CYCLES));
        say("\n");
    }
    csr_write(CSR_LEDS_OUT_ADDR, TRAINED);
    return 0;
}
