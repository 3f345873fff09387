/* SPDX-License-Identifier: MIT */
/* Small helpers that need no table: inline constants and the s_waitcnt operand. */
#include "build/isa/isa.h"

#include <assert.h>

struct isa_operand isa_int(int value)
{
	assert(value >= -16 && value <= 64);

	return (struct isa_operand){ .code = (uint16_t)(value >= 0 ? ISA_INT0 + value : ISA_INT_NEG1 - 1 - value) };
}

struct isa_operand isa_float(double value)
{
	static const double magnitudes[] = { 0.5, 1.0, 2.0, 4.0 };
	static const double inverse_2pi = 0.15915494309189532;

	if (value == 0)
		return isa_int(0);
	if (value == inverse_2pi)
		return (struct isa_operand){ .code = ISA_HALF + 8 };
	for (unsigned i = 0; i < sizeof(magnitudes) / sizeof(magnitudes[0]); i++) {
		if (value == magnitudes[i] || value == -magnitudes[i])
			return (struct isa_operand){ .code = (uint16_t)(ISA_HALF + 2 * i + (value < 0)) };
	}
	assert(!"not an inline constant");
	return isa_int(0);
}

/* vmcnt is in bits 3:0 and 15:14, expcnt in 6:4, lgkmcnt in 11:8 (CDNA3 ISA, S_WAITCNT). */
uint16_t isa_waitcnt_pack(unsigned vmcnt, unsigned expcnt, unsigned lgkmcnt)
{
	assert(vmcnt <= 63 && expcnt <= 7 && lgkmcnt <= 15);

	return (uint16_t)((vmcnt & 15) | expcnt << 4 | lgkmcnt << 8 | (vmcnt >> 4) << 14);
}

void isa_waitcnt_unpack(uint16_t simm16, unsigned *ret_vmcnt, unsigned *ret_expcnt, unsigned *ret_lgkmcnt)
{
	*ret_vmcnt = (simm16 & 15) | (simm16 >> 14) << 4;
	*ret_expcnt = simm16 >> 4 & 7;
	*ret_lgkmcnt = simm16 >> 8 & 15;
}
