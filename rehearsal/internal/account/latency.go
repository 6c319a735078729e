package account

import "time"

// latencies are how long AWS takes for an operation, in seconds. Operations that are
// not listed answer within a second on AWS and at once here.
//
// Sources: "EKS guide" is the EKS user guide, which says that a cluster takes about
// 10 minutes ("Create an Amazon EKS cluster") and that upgrades and node groups take
// several minutes. "TF" is the delay or usual duration that the Terraform provider's
// waiters for the same operation allow for. Both are orders of magnitude, not measures.
func latencies() map[string]float64 {
	return map[string]float64{
		"CreateVpc":                 2,   // TF: waits for state available
		"CreateInternetGateway":     1,   // TF: attach waiter
		"CreateNatGateway":          100, // TF: usually 1.5 to 2 minutes
		"DeleteNatGateway":          60,  // TF: usually about a minute
		"CreateVpcEndpoint":         6,   // TF: gateway endpoints are available at once
		"CreateCluster":             600, // EKS guide: about 10 minutes
		"UpdateClusterConfig":       120, // TF: a few minutes
		"DeleteCluster":             180, // EKS guide: several minutes
		"CreateNodegroup":           150, // EKS guide: a few minutes
		"UpdateNodegroupConfig":     60,  // EKS guide: scaling takes about as long as a boot
		"DeleteNodegroup":           240, // EKS guide: drains, then terminates
		"CreateAddon":               40,  // TF: usually under a minute
		"UpdateAddon":               40,  // TF: usually under a minute
		"DeleteAddon":               15,  // TF: seconds
		"CreateRole":                8,   // TF: waits for IAM to propagate
		"CreateKey":                 2,   // TF: waits for state Enabled
		"CreatePlacementGroup":      2,   // TF: waits for state available
		"DeletePlacementGroup":      2,   // TF: waits for state deleted
		"CreateCapacityReservation": 5,   // TF: waits for state active
	}
}

// wait sleeps as long as AWS takes, divided by the account's speed.
func (a *Account) wait(operation string) {
	if a.options.Speed <= 0 {
		return
	}
	time.Sleep(time.Duration(latencies()[operation] / a.options.Speed * float64(time.Second)))
}

// retryEvery is how often a delete that meets dependent objects is tried again.
const retryEvery = 50 * time.Millisecond

// leastRetry is how long such a delete is tried at least, however fast the account runs:
// what is on its way out, such as a node's processes, does not go faster than it goes.
const leastRetry = 5 * time.Second

// retryUntil says until when a delete is tried that AWS lets take some seconds. An
// account without waiting tries once.
func (a *Account) retryUntil(seconds float64) time.Time {
	if a.options.Speed <= 0 || seconds == 0 {
		return time.Time{}
	}
	return time.Now().Add(max(leastRetry, time.Duration(seconds/a.options.Speed*float64(time.Second))))
}
