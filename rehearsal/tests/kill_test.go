package rehearsal

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// killsAll makes TestKilledUpdatesAreRecovered kill at each point instead of two. `make kills` sets it.
var killsAll = flag.Bool("kills.all", false, "kill updates at each point")

// killPoint is a moment of an update: a resource of the stack is being created or deleted.
type killPoint struct {
	command   string
	operation string
	// resource is the end of the resource's URN: TYPE::NAME.
	resource string
	// midJob waits besides until the job runs on the head.
	midJob bool
	// quick points are killed in every run of the test.
	quick bool
}

// killPoints are in the order of one up and one destroy, which each kill interrupts once more.
func killPoints() []killPoint {
	return []killPoint{
		{command: "up", operation: "creating", resource: "aws:ec2/natGateway:NatGateway::nat"},
		{command: "up", operation: "creating", resource: "aws:eks/cluster:Cluster::eks-eksCluster", quick: true},
		{command: "up", operation: "creating", resource: "aws:eks/nodeGroup:NodeGroup::system"},
		{command: "up", operation: "creating", resource: "aws:eks/addon:Addon::coredns"},
		{command: "up", operation: "creating", resource: "helm.sh/v3:Release::kuberay-operator", quick: true},
		{command: "up", operation: "creating", resource: "raytrain:index:TrainingJob::gate"},
		{command: "up", operation: "creating", resource: "raytrain:index:TrainingJob::gate", midJob: true},
		{command: "destroy", operation: "deleting", resource: "core/v1:Namespace::ray"},
		{command: "destroy", operation: "deleting", resource: "aws:eks/nodeGroup:NodeGroup::gpu"},
		{command: "destroy", operation: "deleting", resource: "aws:eks/cluster:Cluster::eks-eksCluster"},
	}
}

// TestKilledUpdatesAreRecovered kills updates with SIGKILL: the command, its engine and all plugins.
// After `raytrain recover --import` the next update continues, and destroy empties the account. With
// -kills.all it also interrupts updates, by Ctrl-C and by closing the terminal. Then the next update
// continues without recover.
func TestKilledUpdatesAreRecovered(t *testing.T) {
	t.Run("SIGKILL", func(t *testing.T) { endAtEachPoint(t, kill) })
	if *killsAll {
		for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP} {
			t.Run(name, func(t *testing.T) {
				endAtEachPoint(t, func(t *testing.T, _ *kept, _ killPoint, update *running) {
					t.Helper()
					require.NoError(t, update.command.Process.Signal(signal))
					update.wait(t, patience)
				})
			})
		}
	}
}

// endAtEachPoint builds one stack and destroys it, and ends the update at each point.
func endAtEachPoint(t *testing.T, end func(*testing.T, *kept, killPoint, *running)) {
	t.Helper()
	k := &kept{dir: filepath.Join(t.TempDir(), "killed")}
	stopAtEnd(t, k.dir)
	// The account must outlive the updates: its daemon is a child of the command that starts it.
	exit, out := raytrain(t, "rehearse", "preview", "--dir", k.dir, "--speed", "200")
	require.Equal(t, 0, exit, out)
	points := killPoints()
	for i, point := range points {
		if point.command == "destroy" && (i == 0 || points[i-1].command == "up") {
			exit, out := raytrain(t, "rehearse", "up", "--dir", k.dir)
			require.Equal(t, 0, exit, out)
			assert.Contains(t, out, "verdict (rehearsed): efa")
			assert.NotContains(t, out, "pending operations", "recover leaves none")
		}
		if point.quick || *killsAll {
			end(t, k, point, updateTo(t, k, point))
		}
	}
	exit, out = raytrain(t, "rehearse", "destroy", "--dir", k.dir)
	require.Equal(t, 0, exit, out)
	assert.Contains(t, out, "emulated AWS account: empty")
	left, err := k.shell(t, "cd "+root(t)+" && bin/raytrain destroy-check")
	require.NoError(t, err, left)
	assert.Contains(t, left, "nothing in us-east-2 carries the tags")
}

// updateTo starts an update and returns it at the point.
func updateTo(t *testing.T, k *kept, point killPoint) *running {
	t.Helper()
	args := []string{"rehearse", point.command, "--dir", k.dir}
	if point.midJob {
		args = append(args, "--set", "job.steps=200") // so that the job is still running
	}
	update := start(t, args...)
	for !pendingIn(k.dir, point) {
		select {
		case <-update.ended:
			require.Fail(t, "the update ended before the point", "%s %s\n%s", point.operation,
				point.resource, update.out.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	if point.midJob {
		// Only an up that ends writes the rehearsal's kubeconfig.
		out, err := k.shell(t, "aws eks update-kubeconfig --name ray-train-efa")
		require.NoError(t, err, out)
		k.inMidJob(t, update, 1)
	}
	return update
}

// kill kills the update with its engine and all plugins, and recovers the stack.
func kill(t *testing.T, k *kept, point killPoint, update *running) {
	t.Helper()
	pid := update.command.Process.Pid
	victims := append([]int{pid}, descendants(t, pid)...)
	for _, victim := range victims {
		if err := syscall.Kill(victim, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			require.NoError(t, err)
		}
	}
	update.wait(t, patience)
	// The lock names the engine's process, which is gone only after init has collected it.
	for _, victim := range victims {
		require.Eventually(t, func() bool {
			_, err := os.Stat("/proc/" + strconv.Itoa(victim))
			return err != nil
		}, patience, 10*time.Millisecond)
	}
	out, err := k.shell(t, "cd "+root(t)+" && pulumi cancel --yes && bin/raytrain recover; "+
		"bin/raytrain recover --import && bin/raytrain recover")
	require.NoError(t, err, "%s\n%s", point.resource, out)
	t.Logf("%s %s\n%s", point.operation, point.resource, out)
	assert.Contains(t, out, point.operation, "recover must list what the state was killed in")
	if point.operation == "creating" && strings.HasPrefix(point.resource, "aws:") {
		assert.Contains(t, out, "found, id ") // Helm may not have begun
	}
}

// pendingIn reports whether the stack's state has the operation, which the engine writes when it
// begins it.
func pendingIn(dir string, point killPoint) bool {
	body, err := os.ReadFile(filepath.Join(dir, "backend", ".pulumi", "stacks", "ray-train-efa", "rehearsal.json"))
	if err != nil {
		return false
	}
	var stored struct {
		Checkpoint struct {
			Latest struct {
				Pending []struct {
					Type     string
					Resource struct{ URN string }
				} `json:"pending_operations"`
			}
		}
	}
	if json.Unmarshal(body, &stored) != nil {
		return false // half written
	}
	there := false
	for _, one := range stored.Checkpoint.Latest.Pending {
		if strings.Contains(one.Resource.URN, "routeTableAssociation") {
			return false // it has no tags, so that recover cannot say whether it exists
		}
		there = there || one.Type == point.operation && strings.HasSuffix(one.Resource.URN, point.resource)
	}
	return there
}
