"""What NVML says of the device (package nvidia-ml-py): `ptxrun exec -- python3 clients/nvml.py`."""

import pynvml

pynvml.nvmlInit()
print("driver", pynvml.nvmlSystemGetDriverVersion(), "for CUDA", pynvml.nvmlSystemGetCudaDriverVersion())
for index in range(pynvml.nvmlDeviceGetCount()):
    device = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(device)
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(device)
    print(
        index, pynvml.nvmlDeviceGetName(device), pynvml.nvmlDeviceGetUUID(device), f"cc {major}.{minor}",
        f"{memory.used >> 20} of {memory.total >> 20} MiB used",
        f"{pynvml.nvmlDeviceGetMaxClockInfo(device, pynvml.NVML_CLOCK_SM)} MHz", sep=", ",
    )
    try:
        print(pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU), "degrees")
    except pynvml.NVMLError_NotSupported:
        print("no thermometer")
pynvml.nvmlShutdown()
