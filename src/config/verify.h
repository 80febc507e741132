/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Verify: what can be said about the drop-ins only when all of them have been read. */

#include "config/config.h"

/* Drops what cannot be used, with an error for each. 0 or -ENOMEM. */
int config_verify(Config *c, Diagnostics *d);
