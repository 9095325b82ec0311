package main

import (
	"image/color"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// plot draws the report's pictures.
func (r *report) plot(dir string) error {
	if err := r.ratios(filepath.Join(dir, "ratios.svg")); err != nil {
		return err
	}
	for _, g := range r.growth {
		if err := g.plot(filepath.Join(dir, g.file)); err != nil {
			return err
		}
	}
	return nil
}

// ratios draws how far each row's goal is reached: 1 is the goal, and more is better.
func (r *report) ratios(file string) error {
	p := plot.New()
	p.Title.Text = "Measured, by the goal (1: reached)"
	p.X.Min = 0
	p.Add(plotter.NewGrid())
	var names []string
	var values plotter.Values
	for _, row := range slices.Backward(r.rows) {
		v := row.ratio() / row.goal.times
		if row.goal.slow {
			v = 1 / v
		}
		names, values = append(names, row.name), append(values, v)
	}
	bars, err := plotter.NewBarChart(values, vg.Points(12))
	if err != nil {
		return err
	}
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, plotutil.Color(2), 0
	goal, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(values)) - 0.5}})
	if err != nil {
		return err
	}
	goal.Color, goal.Width = color.Gray{Y: 60}, vg.Points(1.5)
	p.Add(bars, goal)
	p.NominalY(names...)
	return p.Save(22*vg.Centimeter, 10*vg.Centimeter, file)
}

// plot draws a growth: both axes are logarithmic, so that what grows with the work is a line that rises.
func (g *growth) plot(file string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = g.title, g.label
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Y.Label.Text = "microseconds"
	if g.columns[0].unit == "/s" {
		p.Y.Label.Text = "appends a second"
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	var lines []any
	for j, c := range g.columns {
		if c.unit == "B" {
			continue
		}
		var xy plotter.XYs
		for i, n := range g.at {
			v := g.cells[i][j]
			if c.unit == "ns" {
				v /= 1e3
			}
			xy = append(xy, plotter.XY{X: float64(n), Y: v})
		}
		lines = append(lines, c.name, xy)
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	p.Y.Max *= 20 // room for the legend
	return p.Save(18*vg.Centimeter, 12*vg.Centimeter, file)
}
