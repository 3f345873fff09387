/* SPDX-License-Identifier: MIT */
/*
 * Pins: keys that eviction passes over, each with the labels that want it kept. In the table "state", as key + digest of the label
 * -> label. All functions run inside a transaction and speak LMDB's language.
 */
#pragma once

#include "cachedb/store.h"
#include "cachedb/cachedb.h"

int pin_set(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_pin *pin);
int pin_clear(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_pin *pin);		/* none: 0 */

int pin_exists(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, bool *ret_exists);

/* Every pin in the order of keys, so those of one key come one after the other. The label ends with the transaction. */
typedef int (*pin_callback)(void *userdata, const struct cachedb_key *key, const char *label, size_t length);
int pin_foreach(MDB_txn *txn, const struct store_tables *tables, pin_callback callback, void *userdata);
