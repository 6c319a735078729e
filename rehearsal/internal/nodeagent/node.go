package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// register makes the node object, before its kubelet starts, with the labels, taints, provider ID
// and addresses that EKS's node group and cloud controller give it.
func register(ctx context.Context, config Config, address netip.Addr) error {
	client, err := kubernetes.NewForConfig(config.REST)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	wanted := nodeObject(config.Spec)
	_, err = client.CoreV1().Nodes().Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		change := map[string]any{"metadata": map[string]any{"labels": wanted.Labels}}
		err = patchNode(ctx, client, wanted.Name, change)
	}
	if err != nil {
		return fmt.Errorf("registering the node: %w", err)
	}
	addresses := []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address.String()},
		// The API server, which is not in the VPC, reaches the kubelet here.
		{Type: corev1.NodeExternalIP, Address: "127.0.0.1"},
		{Type: corev1.NodeHostName, Address: wanted.Name},
		{Type: corev1.NodeInternalDNS, Address: wanted.Name},
	}
	change := map[string]any{"status": map[string]any{"addresses": addresses}}
	if err := patchNode(ctx, client, wanted.Name, change, "status"); err != nil {
		return fmt.Errorf("setting the node's addresses: %w", err)
	}
	return nil
}

func patchNode(
	ctx context.Context, client kubernetes.Interface, name string, change map[string]any,
	subresources ...string,
) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, data,
		metav1.PatchOptions{}, subresources...)
	return err
}

func nodeObject(spec Spec) *corev1.Node {
	labels := map[string]string{
		corev1.LabelHostname:           spec.Name,
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         "amd64",
		corev1.LabelInstanceTypeStable: spec.InstanceType,
		corev1.LabelTopologyRegion:     spec.Region,
		corev1.LabelTopologyZone:       spec.Zone,
	}
	maps.Copy(labels, spec.Labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: spec.ProviderID, Taints: spec.Taints},
	}
}

// addressFromName reads the address out of a private DNS name of EC2,
// ip-10-0-1-23.us-east-2.compute.internal; any other name gives the zero value.
func addressFromName(name string) netip.Addr {
	match := regexp.MustCompile(`^ip-(\d+)-(\d+)-(\d+)-(\d+)(\.|$)`).FindStringSubmatch(name)
	if match == nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(strings.Join(match[1:5], "."))
	if err != nil {
		return netip.Addr{}
	}
	return address
}
