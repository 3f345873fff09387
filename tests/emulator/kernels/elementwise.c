/* SPDX-License-Identifier: MIT */
/* Each function of elementwise.inc as a kernel: out[i] = F(a[i], b[i], c[i]) for i < n. */
#include "kernel.h"

#define F(name, R, T, expression)                                                                  \
	KERNEL k_##name(GLOBAL R *out, const GLOBAL T *pa, const GLOBAL T *pb, const GLOBAL T *pc, u32 n) \
	{                                                                                          \
		u32 i = global_id(128);                                                            \
		if (i >= n)                                                                        \
			return;                                                                    \
		T a = pa[i], b = pb[i], c = pc[i];                                                 \
		(void)a, (void)b, (void)c;                                                         \
		out[i] = (expression);                                                             \
	}
#include "elementwise.inc"
