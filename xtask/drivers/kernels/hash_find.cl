// Looks up keys in a table with open addresses.
kernel void hash_find(global const uint *table, global const uint *keys, global uint *found, uint mask)
{
    int i = get_global_id(0);
    uint key = keys[i], at = (key * 2654435761u) & mask, turns = 0;
    while (turns < 8 && (table[at] & 15) != (key & 15)) {
        at = (at + 1) & mask;
        turns++;
    }
    found[i] = turns < 8 ? at : 0xffffffff;
}
