// A step of the shortest paths between all pairs: by way of point k.
kernel void floyd(global int *dist, int n, int k)
{
    int x = get_global_id(0), y = get_global_id(1);
    int by = dist[y * n + k] + dist[k * n + x];
    if (by < dist[y * n + x])
        dist[y * n + x] = by;
}
