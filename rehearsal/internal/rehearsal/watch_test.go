package rehearsal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
)

// parts is a daemon with given responses, of which it repeats the last.
type parts struct {
	answers [][]daemon.Incident
	asked   int
	ends    bool
}

func (p *parts) Status(context.Context) (daemon.Status, error) {
	if p.asked >= len(p.answers) && p.ends {
		return daemon.Status{}, errors.New("connection refused")
	}
	answer := p.answers[min(p.asked, len(p.answers)-1)]
	p.asked++
	return daemon.Status{Incidents: answer}, nil
}

func (p *parts) Running() bool { return !p.ends || p.asked < len(p.answers) }

func TestALostPartEndsTheStep(t *testing.T) {
	t.Parallel()
	old := daemon.Incident{Text: "an earlier step's etcd"}
	etcd := daemon.Incident{Text: "etcd ended", Restarted: true}
	lost := daemon.Incident{Text: "running etcd: no space left on device"}
	space := func() error { return nil }
	full := func() error { return errors.New("no space left on device") }
	for _, test := range []struct {
		name      string
		disk      func() error
		daemon    *parts
		want      string
		restarted []string
	}{
		{"a lost part", space, &parts{answers: [][]daemon.Incident{{old}, {old, etcd},
			{old, etcd, lost}}},
			lost.Text, []string{"etcd ended (restarted)"}},
		{"a lost daemon", space, &parts{answers: [][]daemon.Incident{{}, {}}, ends: true},
			"the rehearsal's daemon ended", nil},
		{"a full disk", full, &parts{answers: [][]daemon.Incident{{}}}, "no space left on device",
			nil},
		{"only a restart", space, &parts{answers: [][]daemon.Incident{{}, {etcd}}}, "",
			[]string{"etcd ended (restarted)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var restarted []string
			err := watchParts(ctx, test.daemon, test.disk, time.Millisecond,
				func(line string) { restarted = append(restarted, line) })
			assert.Equal(t, test.restarted, restarted)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}

func TestAFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, checkDisk(dir, 0))
	err := checkDisk(dir, 1<<43)
	require.ErrorIs(t, err, unix.ENOSPC)
	require.ErrorContains(t, err, "on the disk of "+dir)
}
