package ec2

// instanceType describes an instance type.
type instanceType struct {
	Name      string
	VCPU      int
	MemoryMiB int
	// Network is EC2's description of the network's speed.
	Network string
	// Interfaces and Addresses bound the pods of a node with the VPC CNI:
	// interfaces x (addresses - 1) + 2.
	Interfaces, Addresses int
	GPU                   gpu
	// EFA is the greatest number of EFA interfaces; 0 is a type without EFA.
	EFA          int
	NetworkCards int
}

// gpu describes the GPUs of a type.
type gpu struct {
	Count     int
	Name      string
	MemoryMiB int
}

// instanceTypes are the types that the rehearsed region offers, in EC2's order.
//
// Sources: vCPU, memory, GPUs and EFA from Karpenter's generated list of instance types
// (2026-08) and EC2's product pages. Prices are those of package capacity.
func instanceTypes() []instanceType {
	l4 := func(n int) gpu { return gpu{n, "L4", 22888} }
	l40s := func(n int) gpu { return gpu{n, "L40S", 45776} }
	a10g := func(n int) gpu { return gpu{n, "A10G", 22888} }
	t4 := func(n int) gpu { return gpu{n, "T4", 16384} }
	return []instanceType{
		{"t3.medium", 2, 4096, "Up to 5 Gigabit", 3, 6, gpu{}, 0, 1},
		{"m6i.large", 2, 8192, "Up to 12.5 Gigabit", 3, 10, gpu{}, 0, 1},
		{"m6i.xlarge", 4, 16384, "Up to 12.5 Gigabit", 4, 15, gpu{}, 0, 1},
		{"m6i.2xlarge", 8, 32768, "Up to 12.5 Gigabit", 4, 15, gpu{}, 0, 1},
		{"m7i.large", 2, 8192, "Up to 12.5 Gigabit", 3, 10, gpu{}, 0, 1},
		{"m7i.xlarge", 4, 16384, "Up to 12.5 Gigabit", 4, 15, gpu{}, 0, 1},
		{"m7i.2xlarge", 8, 32768, "Up to 12.5 Gigabit", 4, 15, gpu{}, 0, 1},
		{"m7i.4xlarge", 16, 65536, "Up to 12.5 Gigabit", 8, 30, gpu{}, 0, 1},
		{"m7i.8xlarge", 32, 131072, "12.5 Gigabit", 8, 30, gpu{}, 0, 1},
		{"g4dn.xlarge", 4, 16384, "Up to 25 Gigabit", 3, 10, t4(1), 0, 1},
		{"g4dn.8xlarge", 32, 131072, "50 Gigabit", 4, 15, t4(1), 1, 1},
		{"g4dn.12xlarge", 48, 196608, "50 Gigabit", 8, 30, t4(4), 1, 1},
		{"g5.xlarge", 4, 16384, "Up to 10 Gigabit", 4, 15, a10g(1), 0, 1},
		{"g5.8xlarge", 32, 131072, "25 Gigabit", 8, 30, a10g(1), 1, 1},
		{"g5.12xlarge", 48, 196608, "40 Gigabit", 15, 50, a10g(4), 1, 1},
		{"g5.48xlarge", 192, 786432, "100 Gigabit", 7, 50, a10g(8), 1, 1},
		{"g6.xlarge", 4, 16384, "Up to 10 Gigabit", 4, 15, l4(1), 0, 1},
		{"g6.2xlarge", 8, 32768, "Up to 10 Gigabit", 4, 15, l4(1), 0, 1},
		{"g6.4xlarge", 16, 65536, "Up to 25 Gigabit", 8, 30, l4(1), 0, 1},
		{"g6.8xlarge", 32, 131072, "25 Gigabit", 8, 30, l4(1), 1, 1},
		{"g6.12xlarge", 48, 196608, "40 Gigabit", 8, 30, l4(4), 1, 1},
		{"g6.16xlarge", 64, 262144, "25 Gigabit", 15, 50, l4(1), 1, 1},
		{"g6.24xlarge", 96, 393216, "50 Gigabit", 15, 50, l4(4), 1, 1},
		{"g6.48xlarge", 192, 786432, "100 Gigabit", 15, 50, l4(8), 1, 1},
		{"g6e.8xlarge", 32, 262144, "25 Gigabit", 8, 30, l40s(1), 1, 1},
		{"g6e.12xlarge", 48, 393216, "100 Gigabit", 10, 30, l40s(4), 1, 1},
		{"g6e.24xlarge", 96, 786432, "200 Gigabit", 20, 50, l40s(4), 2, 2},
		{"g6e.48xlarge", 192, 1572864, "400 Gigabit", 40, 50, l40s(8), 4, 4},
		{"p4d.24xlarge", 96, 1179648, "4x 100 Gigabit", 60, 50, gpu{8, "A100", 40960}, 4, 4},
		{"p5.4xlarge", 16, 262144, "100 Gigabit", 8, 30, gpu{1, "H100", 81920}, 1, 1},
		{"p5.48xlarge", 192, 2097152, "3200 Gigabit", 64, 50, gpu{8, "H100", 81920}, 32, 32},
	}
}

// FindInstanceType returns a type of the region.
func FindInstanceType(name string) (instanceType, bool) {
	for _, t := range instanceTypes() {
		if t.Name == name {
			return t, true
		}
	}
	return instanceType{}, false
}

// MaxPods is the pod limit that the EKS AMI gives to its kubelet.
// Source: EKS AMI repository, eni-max-pods.txt: 58 for m7i.xlarge, 234 for g6.12xlarge.
func (t instanceType) MaxPods() int { return t.Interfaces*(t.Addresses-1) + 2 }

// AllocatableCPU is what the kubelet of an EKS AMI leaves to pods, in millicores.
// Source: EKS AMI, nodeadm's kube-reserved: 6 % of the first core, 1 % of the second,
// 0.5 % of the next two, 0.25 % of the rest.
func (t instanceType) AllocatableCPU() int {
	reserved := 0.0
	for core := 1; core <= t.VCPU; core++ {
		switch {
		case core == 1:
			reserved += 60
		case core == 2:
			reserved += 10
		case core <= 4:
			reserved += 5
		default:
			reserved += 2.5
		}
	}
	return t.VCPU*1000 - int(reserved)
}

// Memory is what the kernel shows and what the kubelet leaves to pods, in MiB.
// Source: EKS AMI, nodeadm's kube-reserved: 11 MiB a pod and 255 MiB, and 100 MiB of
// eviction threshold. Firmware and kernel take about 5 % (EC2 instances of 16 GiB show
// about 15.2 GiB).
func (t instanceType) Memory() (whole, allocatable int) {
	whole = t.MemoryMiB * 95 / 100
	return whole, whole - (11*t.MaxPods() + 255) - 100
}
