// The first of the ordered numbers that is not below a key.
kernel void binary_search(global const uint *ordered, global const uint *keys, global uint *places, int n)
{
    int i = get_global_id(0), low = 0, count = n;
    uint key = keys[i] % ordered[n];
    while (count > 0) {
        int half_of_it = count / 2;
        if (ordered[low + half_of_it] < key) {
            low += half_of_it + 1;
            count -= half_of_it + 1;
        } else {
            count = half_of_it;
        }
    }
    places[i] = low;
}
