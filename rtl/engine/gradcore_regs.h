/* SPDX-License-Identifier: Apache-2.0 */
/* Written by `python -m gradcore regs` from gradcore_regs.rdl, ADDR_W 48. Offsets are in bytes; masks are in place. Of
   a value of 64 bits the low word is at its offset, the high word 4 bytes behind it. */
#ifndef GRADCORE_REGS_H
#define GRADCORE_REGS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ID, r. Identification. */
#define GC_REG_ID                                0x000u
#define GC_ID_RESET                              0x47524144u /* "GRAD". */

/* VERSION, r. Version. */
#define GC_REG_VERSION                           0x004u
#define GC_VERSION_PATCH_MASK                    0xffu
#define GC_VERSION_PATCH_SHIFT                   0
#define GC_VERSION_MINOR_MASK                    0xff00u
#define GC_VERSION_MINOR_SHIFT                   8
#define GC_VERSION_MINOR_RESET                   0x1u
#define GC_VERSION_MAJOR_MASK                    0xffff0000u
#define GC_VERSION_MAJOR_SHIFT                   16

/* CONFIG, r. Parameters of this engine. */
#define GC_REG_CONFIG                            0x008u
#define GC_CONFIG_GRID_MASK                      0xffu /* GRID. */
#define GC_CONFIG_GRID_SHIFT                     0
#define GC_CONFIG_COLS_MASK                      0xff00u /* COLS. */
#define GC_CONFIG_COLS_SHIFT                     8
#define GC_CONFIG_DW_MASK                        0xff0000u /* DW. */
#define GC_CONFIG_DW_SHIFT                       16
#define GC_CONFIG_BEAT_MASK                      0xff000000u /* log2 of the bytes of a beat. */
#define GC_CONFIG_BEAT_SHIFT                     24

/* CONFIG2, r. Parameters of this engine: log2 of the depths. */
#define GC_REG_CONFIG2                           0x00cu
#define GC_CONFIG2_ACT_MASK                      0xffu /* ACT_DEPTH. */
#define GC_CONFIG2_ACT_SHIFT                     0
#define GC_CONFIG2_WGT_MASK                      0xff00u /* WGT_DEPTH. */
#define GC_CONFIG2_WGT_SHIFT                     8
#define GC_CONFIG2_GRAD_MASK                     0xff0000u /* GRAD_DEPTH. */
#define GC_CONFIG2_GRAD_SHIFT                    16
#define GC_CONFIG2_GATE_MASK                     0xff000000u /* GATE_DEPTH. */
#define GC_CONFIG2_GATE_SHIFT                    24

/* CTRL, w. Commands. Reads as zero. */
#define GC_REG_CTRL                              0x010u
#define GC_CTRL_START                            0x1u /* Runs the program; ignored while busy or bus_open. */
#define GC_CTRL_STOP                             0x2u /* Ends it with code 6; ignored while not busy. */
/* Gives up what the memory still owes; ignored while not bus_open. */
#define GC_CTRL_FORCE                            0x4u
#define GC_CTRL_SCRUB                            0x8u /* Clears every buffer; ignored while busy. */

/* STATUS, r. State of the program. */
#define GC_REG_STATUS                            0x014u
#define GC_STATUS_BUSY                           0x1u /* A program runs, or the buffers are being cleared. */
/* It has ended: every engine is idle and every write confirmed. A start clears it. */
#define GC_STATUS_DONE                           0x2u
#define GC_STATUS_FAILED                         0x4u /* It has ended with an error. A start clears it. */
/* An exact sum did not fit ACC_W bits since the start. Zero of a failed program. */
#define GC_STATUS_GRADIENT_OVERFLOW              0x8u
/* A program has ended with an error, but the memory still owes answers or does not take a request. */
#define GC_STATUS_BUS_OPEN                       0x10u
/* A write to a locked register has been ignored. A start clears it. */
#define GC_STATUS_LOCKED_WRITE                   0x20u

/* IRQ_ENABLE, rw. The interrupt is high while a bit stands here and in IRQ_STATUS. */
#define GC_REG_IRQ_ENABLE                        0x018u
#define GC_IRQ_ENABLE_DONE                       0x1u
#define GC_IRQ_ENABLE_FAILED                     0x2u

/* ERROR, r. Of a failed program its error; else zero. */
#define GC_REG_ERROR                             0x01cu
#define GC_ERROR_CODE_MASK                       0xffu /* What went wrong. */
#define GC_ERROR_CODE_SHIFT                      0
#define GC_ERROR_CODE_NONE                       0u /* no error */
#define GC_ERROR_CODE_UNKNOWN_OPCODE             1u /* unknown opcode */
#define GC_ERROR_CODE_NO_END                     2u /* program without END */
#define GC_ERROR_CODE_MALFORMED                  3u /* malformed instruction */
#define GC_ERROR_CODE_DEADLOCK                   4u /* deadlock: every instruction waits for a token */
#define GC_ERROR_CODE_WATCHDOG                   5u /* watchdog: no progress */
#define GC_ERROR_CODE_STOPPED                    6u /* stopped by the host */
#define GC_ERROR_CODE_READ_OUTSIDE               7u /* read outside the windows */
#define GC_ERROR_CODE_WRITE_OUTSIDE              8u /* write outside the windows */
#define GC_ERROR_CODE_MISALIGNED                 9u /* PROG_BASE or BASE is no multiple of the beat */
#define GC_ERROR_CODE_OVERFLOW                   10u /* token overflow: a counter stood at 4095 and got one more */
#define GC_ERROR_CODE_READ_SLVERR                18u /* error response to a read (SLVERR) */
#define GC_ERROR_CODE_READ_DECERR                19u /* error response to a read (DECERR) */
#define GC_ERROR_CODE_WRITE_SLVERR               34u /* error response to a write (SLVERR) */
#define GC_ERROR_CODE_WRITE_DECERR               35u /* error response to a write (DECERR) */
#define GC_ERROR_INSTRUCTION_MASK                0xffffff00u /* Number of the instruction, 0 first. */
#define GC_ERROR_INSTRUCTION_SHIFT               8

/* PROG_BASE, rw. Byte address of the program, a multiple of the beat. Locked while busy. */
#define GC_REG_PROG_BASE                         0x020u
#define GC_REG_PROG_BASE_HIGH                    0x024u
#define GC_PROG_BASE_HIGH_MASK                   0xffffu /* [ADDR_W-1:32] of the address. */
#define GC_PROG_BASE_HIGH_SHIFT                  0

/* SEED, rw. Seed of the random numbers; another one for each iteration. Locked while busy. */
#define GC_REG_SEED                              0x028u

/* PROG_LENGTH, rw. Instructions of the program, END included. Locked while busy. */
#define GC_REG_PROG_LENGTH                       0x02cu
#define GC_PROG_LENGTH_INSTRUCTIONS_MASK         0xffffffu
#define GC_PROG_LENGTH_INSTRUCTIONS_SHIFT        0

/* BASE, rw. Byte address that is added to those of instructions with this base_sel, a multiple of the beat. Locked
   while busy. */
#define GC_BASE_COUNT                            4u
#define GC_BASE_STRIDE                           0x8u
#define GC_REG_BASE(n)                           (0x030u + GC_BASE_STRIDE * (n))
#define GC_REG_BASE_HIGH(n)                      (0x034u + GC_BASE_STRIDE * (n))
#define GC_BASE_HIGH_MASK                        0xffffu /* [ADDR_W-1:32] of the address. */
#define GC_BASE_HIGH_SHIFT                       0

/* LOSS, r. Sum of d^2 over the minibatch. Zero of a failed program. */
#define GC_REG_LOSS                              0x050u
#define GC_REG_LOSS_HIGH                         0x054u

/* ERROR_ADDR, r. Of a failed program of codes 7, 8 and from 18 on the first address of the burst, of code 9 the
   misaligned one; else zero. */
#define GC_REG_ERROR_ADDR                        0x058u
#define GC_REG_ERROR_ADDR_HIGH                   0x05cu
#define GC_ERROR_ADDR_HIGH_MASK                  0xffffu
#define GC_ERROR_ADDR_HIGH_SHIFT                 0

/* IRQ_STATUS, rw. What has happened since the last start. Writing 1 to a bit clears it. */
#define GC_REG_IRQ_STATUS                        0x060u
#define GC_IRQ_STATUS_DONE                       0x1u
#define GC_IRQ_STATUS_FAILED                     0x2u

/* WATCHDOG, rw. Cycles without progress after which a program fails; 0: any number. Locked while busy. */
#define GC_REG_WATCHDOG                          0x064u

/* CONFIG3, r. Parameters of this engine. */
#define GC_REG_CONFIG3                           0x068u
#define GC_CONFIG3_ACC_W_MASK                    0xffu /* ACC_W. */
#define GC_CONFIG3_ACC_W_SHIFT                   0
#define GC_CONFIG3_WINDOWS_MASK                  0xff00u /* Number of DMA windows. */
#define GC_CONFIG3_WINDOWS_SHIFT                 8
#define GC_CONFIG3_HAS_VECTOR                    0x10000u /* HAS_VECTOR. */
#define GC_CONFIG3_HAS_SOFTMAX                   0x20000u /* HAS_SOFTMAX. */
#define GC_CONFIG3_HAS_FACTOR                    0x40000u /* HAS_FACTOR. */

/* LOCK, rw. Locks that only a hardware reset opens. */
#define GC_REG_LOCK                              0x06cu
#define GC_LOCK_WINDOWS                          0x1u /* Writing 1 locks all registers of the windows. */

/* RATE, rw. Factor of the learning rates that the program holds, 15 fraction bits; 32768 and more are 1. Locked while
   busy. */
#define GC_REG_RATE                              0x070u
#define GC_RATE_FACTOR_MASK                      0xffffu
#define GC_RATE_FACTOR_SHIFT                     0
#define GC_RATE_FACTOR_RESET                     0x8000u

/* WINDOW, rw. A DMA window, nothing allowed after a reset. The engine reads and writes only in pages that a window with
   the right holds. Windows may overlap. Locked while busy, and by LOCK. */
#define GC_WINDOW_COUNT                          4u
#define GC_WINDOW_STRIDE                         0x10u
#define GC_REG_WINDOW_BASE(n)                    (0x080u + GC_WINDOW_STRIDE * (n))
#define GC_REG_WINDOW_BASE_HIGH(n)               (0x084u + GC_WINDOW_STRIDE * (n))
#define GC_REG_WINDOW_END(n)                     (0x088u + GC_WINDOW_STRIDE * (n))
#define GC_REG_WINDOW_END_HIGH(n)                (0x08cu + GC_WINDOW_STRIDE * (n))
#define GC_WINDOW_BASE_READ                      0x1u /* The engine may read. */
#define GC_WINDOW_BASE_WRITE                     0x2u /* The engine may write. */
#define GC_WINDOW_BASE_ADDRESS_MASK              0xfffff000u /* [31:12] of the address. */
#define GC_WINDOW_BASE_ADDRESS_SHIFT             12
#define GC_WINDOW_BASE_HIGH_MASK                 0xffffu /* [ADDR_W-1:32] of the address. */
#define GC_WINDOW_BASE_HIGH_SHIFT                0
#define GC_WINDOW_END_ADDRESS_MASK               0xfffff000u /* [31:12] of the address. */
#define GC_WINDOW_END_ADDRESS_SHIFT              12
#define GC_WINDOW_END_HIGH_MASK                  0xffffu /* [ADDR_W-1:32] of the address. */
#define GC_WINDOW_END_HIGH_SHIFT                 0

/* COUNTERS, r, for gc_counter. Counters of a program, from start to end. cycles: cycles. read_beats, write_beats: beats
   read from and written to the memory. compute_mac_busy: cycles in which a step of the array is issued.
   compute_padding: cycles in which a pass waits until the columns of the one before have left. compute_turn_round:
   other busy cycles of compute: from one instruction to the next. compute_yield: cycles in which a step waits because
   an urgent STORE reads its operand buffer. saturated_act: vectors of sums that became activations, at least one of
   them saturated, and such beats of VECTOR. saturated_delta: the same of local gradients, of BP, of the loss, of
   softmax and of VECTOR. saturated_update: rows of weights with a saturated gradient, momentum or weight. */
#define GC_COUNTER_CYCLES                        0x100u
#define GC_COUNTER_READ_BEATS                    0x108u
#define GC_COUNTER_WRITE_BEATS                   0x110u
#define GC_COUNTER_SATURATED_ACT                 0x118u
#define GC_COUNTER_SATURATED_DELTA               0x120u
#define GC_COUNTER_SATURATED_UPDATE              0x128u
#define GC_COUNTER_LOAD_BUSY                     0x140u
#define GC_COUNTER_LOAD_WAIT_LOAD                0x148u
#define GC_COUNTER_LOAD_WAIT_WLOAD               0x150u
#define GC_COUNTER_LOAD_WAIT_COMPUTE_READ        0x158u
#define GC_COUNTER_LOAD_WAIT_COMPUTE_WRITTEN     0x160u
#define GC_COUNTER_LOAD_WAIT_STORE               0x168u
#define GC_COUNTER_LOAD_WAIT_UPDATE              0x170u
#define GC_COUNTER_LOAD_IDLE                     0x178u
#define GC_COUNTER_WLOAD_BUSY                    0x180u
#define GC_COUNTER_WLOAD_WAIT_LOAD               0x188u
#define GC_COUNTER_WLOAD_WAIT_WLOAD              0x190u
#define GC_COUNTER_WLOAD_WAIT_COMPUTE_READ       0x198u
#define GC_COUNTER_WLOAD_WAIT_COMPUTE_WRITTEN    0x1a0u
#define GC_COUNTER_WLOAD_WAIT_STORE              0x1a8u
#define GC_COUNTER_WLOAD_WAIT_UPDATE             0x1b0u
#define GC_COUNTER_WLOAD_IDLE                    0x1b8u
#define GC_COUNTER_COMPUTE_BUSY                  0x1c0u
#define GC_COUNTER_COMPUTE_WAIT_LOAD             0x1c8u
#define GC_COUNTER_COMPUTE_WAIT_WLOAD            0x1d0u
#define GC_COUNTER_COMPUTE_WAIT_COMPUTE_READ     0x1d8u
#define GC_COUNTER_COMPUTE_WAIT_COMPUTE_WRITTEN  0x1e0u
#define GC_COUNTER_COMPUTE_WAIT_STORE            0x1e8u
#define GC_COUNTER_COMPUTE_WAIT_UPDATE           0x1f0u
#define GC_COUNTER_COMPUTE_IDLE                  0x1f8u
#define GC_COUNTER_STORE_BUSY                    0x200u
#define GC_COUNTER_STORE_WAIT_LOAD               0x208u
#define GC_COUNTER_STORE_WAIT_WLOAD              0x210u
#define GC_COUNTER_STORE_WAIT_COMPUTE_READ       0x218u
#define GC_COUNTER_STORE_WAIT_COMPUTE_WRITTEN    0x220u
#define GC_COUNTER_STORE_WAIT_STORE              0x228u
#define GC_COUNTER_STORE_WAIT_UPDATE             0x230u
#define GC_COUNTER_STORE_IDLE                    0x238u
#define GC_COUNTER_UPDATE_BUSY                   0x240u
#define GC_COUNTER_UPDATE_WAIT_LOAD              0x248u
#define GC_COUNTER_UPDATE_WAIT_WLOAD             0x250u
#define GC_COUNTER_UPDATE_WAIT_COMPUTE_READ      0x258u
#define GC_COUNTER_UPDATE_WAIT_COMPUTE_WRITTEN   0x260u
#define GC_COUNTER_UPDATE_WAIT_STORE             0x268u
#define GC_COUNTER_UPDATE_WAIT_UPDATE            0x270u
#define GC_COUNTER_UPDATE_IDLE                   0x278u
#define GC_COUNTER_COMPUTE_MAC_BUSY              0x280u
#define GC_COUNTER_COMPUTE_PADDING               0x288u
#define GC_COUNTER_COMPUTE_TURN_ROUND            0x290u
#define GC_COUNTER_COMPUTE_YIELD                 0x298u

/* How a register is reached: regs points to the first of the mapped, uncached registers. Define both before this file
   is included where it goes another way; regs is then handed to them as it is. */
#ifndef GC_READ32
#define GC_READ32(regs, offset) (((const volatile uint32_t *)(regs))[(offset) / 4u])
#endif
#ifndef GC_WRITE32
#define GC_WRITE32(regs, offset, value) (((volatile uint32_t *)(regs))[(offset) / 4u] = (value))
#endif

/* A value of 64 bits, its low word read first. */
static inline uint64_t gc_read64(volatile void *regs, uint32_t offset)
{
    uint32_t low = GC_READ32(regs, offset);
    uint32_t high = GC_READ32(regs, offset + 4u);
    (void)regs;
    return (uint64_t)high << 32 | low;
}

static inline void gc_write64(volatile void *regs, uint32_t offset, uint64_t value)
{
    (void)regs;
    GC_WRITE32(regs, offset, (uint32_t)value);
    GC_WRITE32(regs, offset + 4u, (uint32_t)(value >> 32));
}

/* A counter, GC_COUNTER_.., right also while it counts: reading the low word keeps the high word of the same moment.
   One is kept for all counters, so only one thread may read them at a time. */
static inline uint64_t gc_counter(volatile void *regs, uint32_t counter)
{
    return gc_read64(regs, counter);
}

#ifdef __cplusplus
}
#endif

#endif
