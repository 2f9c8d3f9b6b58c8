/* SPDX-License-Identifier: Apache-2.0 */
    .section .start, "ax"
    .global _start
_start:
    la sp, stack_end
    call main
stop:
    j stop
