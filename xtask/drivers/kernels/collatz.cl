// Steps to one: halve even numbers, three times and one more of odd ones.
kernel void collatz(global uint *steps)
{
    uint i = get_global_id(0), x = i + 1, n = 0;
    while (x > 1 && n < 200) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        n++;
    }
    steps[i] = n;
}
