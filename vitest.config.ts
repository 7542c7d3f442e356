import { defineConfig, type ViteUserConfig } from 'vitest/config'
// A store that is misspelt ends the run before it starts.
import './test/servers/chosen.ts'

const config: ViteUserConfig = defineConfig({
  test: {
    reporters: ['default', './test/reporter.ts'],
    // A test that passes at the second try has failed.
    retry: 0,
    passWithNoTests: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts'],
          exclude: ['test/package.test.ts', 'test/bundle.test.ts'],
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Servers, processes and clocks: one file at a time, so that tests do not disturb each other's timing.
        extends: true,
        test: {
          name: 'real',
          include: ['test/*/**/*.test.ts', 'test/package.test.ts', 'test/bundle.test.ts'],
          globalSetup: ['./test/servers/setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          // each has processes and threads of its own
          maxConcurrency: 3,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    coverage: { include: ['src/**/*.ts'], exclude: ['src/**/*.test.ts', 'src/sim/**'] },
  },
})

export default config
