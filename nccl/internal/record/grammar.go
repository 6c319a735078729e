package record

import "bytes"

// Grammar indexes the forms by the byte in which they differ, so that irrelevant lines (most of
// them) need only one table lookup.
type Grammar struct {
	first [256][]form // by the message's first byte
	ofi   [256][]form // by the byte behind "NET/OFI "
}

const ofiLead = "NET/OFI "

// NewGrammar returns an index of all forms.
func NewGrammar() *Grammar {
	g := &Grammar{}
	for _, f := range append(mainForms(), noteForms()...) {
		if len(f.lead) > len(ofiLead) && f.lead[:len(ofiLead)] == ofiLead {
			g.ofi[f.lead[len(ofiLead)]] = append(g.ofi[f.lead[len(ofiLead)]], f)
			continue
		}
		g.first[f.lead[0]] = append(g.first[f.lead[0]], f)
	}
	return g
}

// candidates returns the forms that a message starting with b may have.
func (g *Grammar) candidates(b []byte) []form {
	if len(b) == 0 {
		return nil
	}
	if b[0] == 'N' && len(b) > len(ofiLead) && string(b[:len(ofiLead)]) == ofiLead {
		return g.ofi[b[len(ofiLead)]]
	}
	return g.first[b[0]]
}

// led returns those of the forms whose lead the message has; ends
// of messages are not known yet, so only the lead is compared.
func led(forms []form, b []byte) bool {
	for i := range forms {
		if hasPrefix(b, forms[i].lead) {
			return true
		}
	}
	return false
}

// read fills the event from a whole message.
func (g *Grammar) read(forms []form, msg []byte, e *Event) bool {
	for i := range forms {
		f := &forms[i]
		if !hasPrefix(msg, f.lead) || f.has != "" && !bytes.Contains(msg, []byte(f.has)) {
			continue
		}
		if f.parse == nil {
			e.Kind, e.Code = KindNote, f.code
		} else if !f.parse(msg, e) {
			continue
		}
		e.Fails = f.fails
		return true
	}
	return false
}
