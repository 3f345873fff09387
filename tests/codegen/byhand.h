/* SPDX-License-Identifier: MIT */
/* Small kernels by hand, for tests that know what must come out. */
#pragma once

#include "build/codegen/ir.h"

const struct isa *gfx942(void);
struct ir *new_ir(void);

struct isa_operand v(unsigned first);
struct isa_operand s(unsigned first);

void v_mov(struct ir *ir, unsigned to, unsigned from);
void s_mov(struct ir *ir, unsigned to, uint32_t value);
void load(struct ir *ir, unsigned to);		/* from the address in v[100:101] */
void store(struct ir *ir, unsigned from);
void end(struct ir *ir);

/* Runs the passes; the code must pass the checker. */
void finish(struct ir *ir, struct buffer *code);

/* Finishes and frees the ir; its listing, without labels and comments, must be these lines. */
void expect_listing(struct ir *ir, const char *expected);
