package rehearsal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
)

// parts is a daemon whose answers are given, the last one for ever.
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
	for _, test := range []struct {
		name      string
		daemon    *parts
		want      string
		restarted []string
	}{
		{"a lost part", &parts{answers: [][]daemon.Incident{{old}, {old, etcd}, {old, etcd, lost}}},
			lost.Text, []string{"etcd ended (restarted)"}},
		{"a lost daemon", &parts{answers: [][]daemon.Incident{{}, {}}, ends: true},
			"the rehearsal's daemon ended", nil},
		{"only a restart", &parts{answers: [][]daemon.Incident{{}, {etcd}}}, "",
			[]string{"etcd ended (restarted)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var restarted []string
			err := watchParts(ctx, test.daemon, time.Millisecond,
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
