/* SPDX-License-Identifier: Apache-2.0 */
/* What a generated program includes: the interface between it and the run time. */
#ifndef GRASP_V1_RUNTIME_H
#define GRASP_V1_RUNTIME_H

#include "program.h" /* descriptors and functions that a program defines */
#include "packet.h"  /* packet state, primitives that act on one packet */
#include "state.h"   /* registers, counters, meters */
#include "tables.h"  /* look-ups */
#include "hash.h"    /* calculations */

#endif
