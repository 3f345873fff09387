/* SPDX-License-Identifier: MIT */
/*
 * Removes s_mov_b32, s_mov_b64 and v_mov_b32 that give a register the value it is known to have, within straight runs of code: a
 * constant it was given before, or the value of a register that neither of the two has lost since.
 *
 * A vector register is known only in the lanes that were active, so whatever writes EXEC ends what is known of all of them. At every
 * label and after every branch nothing is known.
 */
#pragma once

struct ir;

/* Errors are kept in the ir. */
int ir_dedup(struct ir *ir);
