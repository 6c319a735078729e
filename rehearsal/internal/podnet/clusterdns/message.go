package clusterdns

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// timeToLive is CoreDNS's for cluster names, in seconds.
const timeToLive = 5

// respond answers one packet.
func (z zone) respond(packet []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(packet)
	if err != nil {
		return nil, fmt.Errorf("parsing a DNS query: %w", err)
	}
	question, err := parser.Question()
	if err != nil {
		return nil, fmt.Errorf("parsing a DNS question: %w", err)
	}
	answers, code := z.answer(question)
	message := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: header.ID, Response: true, OpCode: header.OpCode, Authoritative: true,
			RecursionDesired: header.RecursionDesired, RecursionAvailable: true, RCode: code,
		},
		Questions: []dnsmessage.Question{question},
		Answers:   answers,
	}
	data, err := message.Pack()
	if err != nil {
		return nil, fmt.Errorf("packing a DNS answer: %w", err)
	}
	return data, nil
}

func (z zone) answer(question dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	name := strings.ToLower(question.Name.String())
	header := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET,
		TTL: timeToLive}
	if address, ok := reverseAddress(name); ok {
		target, known := z.pointer(address)
		packed, err := dnsmessage.NewName(target)
		if !known || err != nil {
			return nil, dnsmessage.RCodeNameError
		}
		return []dnsmessage.Resource{{Header: header,
			Body: &dnsmessage.PTRResource{PTR: packed}}}, dnsmessage.RCodeSuccess
	}
	addresses, known := z.addresses(name)
	if !known {
		return nil, dnsmessage.RCodeNameError
	}
	if question.Type != dnsmessage.TypeA && question.Type != dnsmessage.TypeALL {
		// The name exists without such a record, AAAA most often. NXDOMAIN here would make
		// resolvers give up on the A record as well.
		return nil, dnsmessage.RCodeSuccess
	}
	return addressRecords(header, addresses), dnsmessage.RCodeSuccess
}

func addressRecords(
	header dnsmessage.ResourceHeader, addresses []netip.Addr,
) []dnsmessage.Resource {
	var records []dnsmessage.Resource
	for _, address := range addresses {
		records = append(records, dnsmessage.Resource{Header: header,
			Body: &dnsmessage.AResource{A: address.As4()}})
	}
	return records
}
