// One step of a breadth-first search: the neighbours of every node at the current level get the next one.
__kernel void bfs(__global const int* start, __global const int* edges, __global int* level, int nodes, int current)
{
    int node = get_global_id(0);
    if (node >= nodes || level[node] != current) return;
    int end = start[node + 1];
    for (int e = start[node]; e < end; ++e) {
        int neighbour = edges[e];
        if (level[neighbour] < 0) level[neighbour] = current + 1;
    }
}
