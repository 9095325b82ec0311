package tests

func nameAttacks() []attack     { return nil }
func linkAttacks() []attack     { return nil }
func storeAttacks() []attack    { return nil }
func socketAttacks() []attack   { return nil }
func procAttacks() []attack     { return nil }
func raceAttacks() []attack     { return nil }
func floodAttacks() []attack    { return nil }
func junkAttacks() []attack     { return nil }
func operatorAttacks() []attack { return nil }
func shareAttacks() []attack    { return nil }
