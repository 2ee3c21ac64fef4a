"""A demonstration on real calls: real speech through real Pipecat pipelines, watched live by Earwitness."""
