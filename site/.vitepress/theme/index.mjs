// VitePress's own theme, without its font: no request for what a machine has.
import DefaultTheme from 'vitepress/theme-without-fonts';
import { defineAsyncComponent } from 'vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    // Loaded by the one page that has it.
    app.component(
      'Playground',
      defineAsyncComponent(() => import('./playground/Playground.vue')),
    );
  },
};
