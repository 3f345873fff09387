/* SPDX-License-Identifier: MIT */
/* Names for the two builds of lanes*.c: meson.build defines EMU_LANES_AVX2 for the one of them. */
#pragma once

#include "tools/emulator/lanes.h"

#ifdef EMU_LANES_AVX2
#define LANE_NAME(name) name##_avx2
#else
#define LANE_NAME(name) name##_baseline
#endif

struct lane_table LANE_NAME(lane_rows_int)(void);
struct lane_table LANE_NAME(lane_rows_float)(void);

struct lane_table LANE_NAME(lane_rows_half)(void);
struct lane_table LANE_NAME(lane_rows_compare)(void);
struct lane_table LANE_NAME(lane_rows_convert)(void);
