/* SPDX-License-Identifier: MIT */
/* Short names for register operands: s1(4) is s4, s2(4) is s[4:5], v4(8) is v[8:11]. For writers of kernels. */
#pragma once

#include "build/isa/isa.h"

static inline struct isa_operand s1(unsigned first)
{
	return isa_sgpr(first, 1);
}

static inline struct isa_operand s2(unsigned first)
{
	return isa_sgpr(first, 2);
}

static inline struct isa_operand v1(unsigned first)
{
	return isa_vgpr(first, 1);
}

static inline struct isa_operand v2(unsigned first)
{
	return isa_vgpr(first, 2);
}
