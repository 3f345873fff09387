/* SPDX-License-Identifier: MIT */
/*
 * `tensilefs run`: one kernel of any gfx942 code object on the CPU, with arguments from the command line.
 *
 *     tensilefs run FILE                                          lists the kernels of a code object or offload bundle
 *     tensilefs run FILE KERNEL [OPTION...] [ARGUMENT...]
 *
 * Options:
 *     --grid X[,Y[,Z]]       workgroups (1)
 *     --block X[,Y[,Z]]      work-items of a workgroup (64)
 *     --lds BYTES            dynamic LDS
 *     --threads N            host threads (1)
 *     --max-instructions N   of one wave (100 million)
 *     --allow-undefined, --range-whole, --ignore-mfma-wait        see EMU_* in emulator.h
 *     --stats                counts of executed instructions
 *
 * Arguments fill the kernel argument segment from its start, each aligned to its size, unless OFFSET= stands before it:
 *     i8:N u8:N i16:N u16:N i32:N u32:N i64:N u64:N f16:X bf16:X f32:X f64:X       a value
 *     buf:SIZE[:WHAT...]     the address of SIZE bytes of device memory; SIZE may end in K or M. WHAT:
 *         zero (default), seq (u32 0, 1, 2 ...), random (repeatable bytes), byte=N, TYPE=X (all elements X), @PATH (a file's bytes)
 *         read               the kernel must not write it
 *         out=PATH           the bytes are written there afterwards
 *         print=TYPE[,N]     the first N elements (all) are printed afterwards, one line
 *
 * Example: tensilefs run add.co add --grid 4 --block 256 buf:4K:print=f32,8 buf:4K:f32=1.5:read buf:4K:f32=2:read u32:1024
 *
 * An access outside the buffers, an undefined value, a missing wait and so on end the run with a message (see emulator.h).
 */
#pragma once

/* argv[0] is "run". Prints results to stdout, "tensilefs: ..." to stderr. Returns the exit status: 0, 1 failed, 2 called wrongly. */
int command_run(int argc, char **argv);
