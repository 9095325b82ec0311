package record

// Map replaces every text of r that its writer chose by f of it: ids, names, and what its blocks hold. It replaces them in
// place: r must not be shared.
func (r *Record) Map(f func(string) string) {
	each(f, &r.ID, &r.Parent, &r.Role, &r.Name, &r.Type)
	for i := range r.Blocks {
		b := &r.Blocks[i]
		each(f, &b.Text, &b.CallID, &b.Name, &b.Input, &b.MediaType, &b.Ref)
	}
}

// Map replaces every id by f of it, in place.
func (ids *IDs) Map(f func(string) string) {
	each(f, &ids.Session, &ids.Thread, &ids.Turn, &ids.Task, &ids.Run, &ids.Attempt, &ids.Step, &ids.Model, &ids.Format)
	for i := range ids.Evidence {
		each(f, &ids.Evidence[i])
	}
	for i := range ids.Native {
		each(f, &ids.Native[i].Value)
	}
}

func each(f func(string) string, texts ...*string) {
	for _, t := range texts {
		if *t != "" {
			*t = f(*t)
		}
	}
}
